"""Identifiers: minted with what they name, and never anything else's."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, connection, transaction

from registry.errors import NotFound
from registry.fair import ark
from registry.selectors.access import Actor
from registry.selectors.fair.description import describe, describe_revisions
from registry.selectors.fair.identifier import (
    ResolvedIdentifier,
    identifier_get,
    identifier_of,
    identifiers_at,
    identifiers_of,
    pid_url,
)
from registry.selectors.fair.versions import version_list, versions_of
from registry.selectors.repository.revision import revision_get
from registry.services.fair.identifier import identifiers_mint
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import mlmodel_create, mlmodel_move, mlmodel_update
from registry.services.repository.revision import squash
from registry.states import IdentifierKind
from registry.tables import Identifier, MLModel, Revision, User
from tests.factories import commit_files, revision_row

NOBODY = AnonymousUser()


def concept_of(mlmodel: MLModel) -> Identifier:
    return mlmodel.identifiers.get(kind=IdentifierKind.CONCEPT)


def found(actor: Actor, text: str) -> ResolvedIdentifier:
    return identifier_get(actor, text)


def refusal(actor: Actor, text: str) -> NotFound:
    with pytest.raises(NotFound) as caught:
        identifier_get(actor, text)
    assert caught.value.code == "identifier_not_found"
    return caught.value


def test_a_model_and_each_version_is_named_as_it_is_made(galaxy: MLModel, charlie: User) -> None:
    commit_files(galaxy, {"a.txt": b"a"}, actor=charlie)
    squash(actor=charlie, mlmodel=galaxy, branch="main", message="one")
    rows = list(identifiers_of(galaxy))
    assert [row.kind for row in rows] == ["concept", *["version"] * 3]
    revisions = galaxy.revisions.order_by("-pk")
    assert [row.revision for row in rows[1:]] == list(revisions)[:-1], "the first commit is empty"
    assert [row.oid for row in rows[1:]] == [row.revision.oid for row in rows[1:] if row.revision]
    assert len({row.name for row in rows}) == 4
    assert all(ark.is_checked(settings.NAAN, row.name) for row in rows)
    assert {row.full_name for row in rows} == {"lab/galaxy-cnn"}
    concept, version = identifiers_at(revision_get(galaxy))
    assert (concept, version) == (rows[0], rows[1])
    assert pid_url(rows[0].name) == f"{settings.HUB_URL}/ark:/99999/{rows[0].name}"


def test_naming_again_names_nothing_anew(galaxy: MLModel) -> None:
    before = list(identifiers_of(galaxy))
    identifiers_mint(galaxy, list(galaxy.revisions.all()))
    assert list(identifiers_of(galaxy)) == before


def test_a_copy_has_names_of_its_own(galaxy: MLModel, bob: User) -> None:
    copy = fork(actor=bob, source=galaxy, namespace="bob", name="mine")
    theirs, own = (
        set(identifiers_of(one).values_list("name", flat=True)) for one in (galaxy, copy)
    )
    assert len(own) == len(theirs) == 2
    assert not own & theirs
    assert {row.full_name for row in identifiers_of(copy)} == {"bob/mine"}


def test_a_name_that_is_taken_is_drawn_again(
    galaxy: MLModel, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = concept_of(galaxy).name
    drawn = iter([taken, "h2one"])
    monkeypatch.setattr(ark, "mint", lambda _: next(drawn))
    made = mlmodel_create(actor=alice, namespace="alice", name="new")
    assert set(identifiers_of(made).values_list("name", flat=True)) == {"h2one"}
    assert concept_of(galaxy).mlmodel == galaxy


def test_where_all_names_are_taken_nothing_is_made(
    galaxy: MLModel, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = concept_of(galaxy).name
    monkeypatch.setattr(ark, "mint", lambda _: taken)
    with pytest.raises(IntegrityError), transaction.atomic():
        identifiers_mint(galaxy, [_child(galaxy)])
    assert identifiers_of(galaxy).count() == 2


def test_each_spelling_finds_it(galaxy: MLModel) -> None:
    revision = revision_get(galaxy)
    row = identifier_of(revision)
    assert row is not None
    name = row.name
    hyphened = f"{name[:3]}-{name[3:7]}-{name[7:]}"
    for text in (name, f"ark:/99999/{name}", f"ark:99999/{name}", f"ARK:/99999/{name.upper()}",
                 f"ark:/99999/{hyphened}", hyphened):  # fmt: skip
        assert found(NOBODY, text) == ResolvedIdentifier(row, galaxy, revision, None)
    whole = found(NOBODY, concept_of(galaxy).name)
    assert (whole.mlmodel, whole.revision, whole.description) == (galaxy, None, None)


@pytest.mark.parametrize("text", ["", "ark:", "ark:/99999/", "h2", "\x00", "a b", "é", "x" * 5000])
def test_what_is_no_identifier_is_not_found(galaxy: MLModel, text: str) -> None:
    refusal(NOBODY, text)
    refusal(None, f"ark:/99999/{text}")


def test_the_refusal_says_what_to_do(galaxy: MLModel) -> None:
    name = concept_of(galaxy).name
    wrong = name[:4] + ("b" if name[4] != "b" else "c") + name[5:]
    assert "typing error" in refusal(NOBODY, wrong).hint
    assert "https://n2t.net/ark:/12148/h2abc" in refusal(NOBODY, "ark:/12148/h2abc").hint
    assert "Sign in" in refusal(NOBODY, ark.mint(settings.NAAN)).hint


def test_names_minted_for_tests_are_answered_for_later(galaxy: MLModel, settings: Any) -> None:
    name = concept_of(galaxy).name
    settings.NAAN = "12148"
    assert pid_url(name).endswith(f"/ark:/12148/{name}")
    for naan in ("99999", "12148"):
        assert found(NOBODY, f"ark:/{naan}/{name}").mlmodel == galaxy
    made = commit_files(galaxy, {"a.txt": b"a"})
    row = identifier_of(made)
    assert row is not None
    assert ark.is_checked("12148", row.name)


def test_what_is_private_is_not_there_for_strangers(
    secret: MLModel, charlie: User, alice: User
) -> None:
    row = concept_of(secret)
    assert found(charlie, row.name).mlmodel == secret
    for actor in (NOBODY, alice):
        private, none = refusal(actor, row.name), refusal(actor, free := ark.mint(settings.NAAN))
        told = private.detail.replace(row.name, free), private.hint
        assert told == (none.detail, none.hint)


def test_what_is_hidden_is_found_no_more_and_what_is_shown_again_is(
    galaxy: MLModel, charlie: User
) -> None:
    name = concept_of(galaxy).name
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility="private")
    refusal(NOBODY, name)
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility="public")
    assert found(NOBODY, name).mlmodel == galaxy


def test_it_follows_what_is_moved(galaxy: MLModel, charlie: User) -> None:
    name = concept_of(galaxy).name
    mlmodel_move(actor=charlie, mlmodel=galaxy, namespace="charlie", name="stars")
    moved = found(NOBODY, name).mlmodel
    assert moved is not None
    assert moved.full_name == "charlie/stars"


def test_what_was_there_before_there_were_identifiers_is_named(
    galaxy: MLModel, secret: MLModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = concept_of(galaxy)
    Identifier.objects.exclude(pk=kept.pk).delete()
    migration = import_module("registry.migrations.0006_identifiers")
    monkeypatch.setattr(migration, "_AT_ONCE", 2)
    migration.mint(apps, SimpleNamespace(connection=connection))
    assert concept_of(galaxy) == kept
    for mlmodel in (galaxy, secret):
        rows = list(identifiers_of(mlmodel))
        assert [row.kind for row in rows] == ["concept", "version", "version"]
        assert [row.revision for row in rows[1:]] == list(mlmodel.revisions.order_by("-pk"))
        assert all(ark.is_checked(settings.NAAN, row.name) for row in rows)
        assert {row.full_name for row in rows} == {mlmodel.full_name}
    migration.mint(apps, SimpleNamespace(connection=connection))
    assert Identifier.objects.count() == 6
    # The empty first commit had an identifier there. It resolves, and is no version to cite.
    newest, start = galaxy.revisions.order_by("-pk")
    assert found(NOBODY, start.identifiers.get().name).revision == start
    assert [one.oid for one in version_list(versions_of(galaxy))] == [newest.oid]
    record = describe(revision_get(galaxy))
    assert record.versions == (record.pid,)
    (own,) = describe_revisions([start])
    assert own.pid == pid_url(start.identifiers.get().name)
    assert own.versions == (record.pid, own.pid)


def _child(mlmodel: MLModel) -> Revision:
    """A revision after the newest, without an identifier."""
    head = revision_get(mlmodel)
    columns = ("tree_oid", "author_line", "message", "created_at")
    same = {column: getattr(head, column) for column in columns}
    return revision_row(mlmodel, oid="0" * 40, parent=head, **same)
