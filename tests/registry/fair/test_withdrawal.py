"""What is deleted leaves its record, to which its identifiers lead for ever; bytes and rows go."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from registry.errors import Invalid, NotFound
from registry.fair.description import Description
from registry.fair.withdrawal import withdrawn
from registry.selectors.fair.description import describe
from registry.selectors.fair.identifier import identifier_get, withdrawn_get
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_move, mlmodel_update
from registry.services.repository.ref import ref_create
from registry.services.repository.revision import squash
from registry.services.storage.prune import revisions_prune
from registry.states import IdentifierKind, RefKind, RepositoryKind
from registry.tables import AuditEntry, Identifier, Job, MLModel, Revision, User
from tests.factories import commit_files, make_mlmodel, readme

NOBODY = AnonymousUser()
MODEL = RepositoryKind.MODEL


def described(revision: Revision, mlmodel: MLModel) -> Description:
    revision.mlmodel = mlmodel
    return describe(revision)


def left_of(row: Identifier) -> Description:
    found = identifier_get(NOBODY, row.name)
    assert found.description is not None
    return found.description


def as_withdrawn(description: Description, left: Description) -> Description:
    """``description`` with what changes by withdrawing, of which ``left`` is a witness."""
    return withdrawn(description, left.withdrawal)


def versions(mlmodel: MLModel) -> list[Identifier]:
    """Identifiers of its versions, the oldest first."""
    return list(mlmodel.identifiers.filter(kind=IdentifierKind.VERSION).order_by("pk"))


def test_the_whole_record_of_the_newest_version_stays(galaxy: MLModel, charlie: User) -> None:
    before = described(revision_get(galaxy), galaxy)
    concept = galaxy.identifiers.get(kind=IdentifierKind.CONCEPT)
    newest = versions(galaxy)[-1]
    mlmodel_delete(actor=charlie, mlmodel=galaxy, reason="Wrong labels.\r\nSee erratum.")
    assert not MLModel.objects.exists()
    assert not Revision.objects.exists()
    for row in (concept, newest):
        left = left_of(row)
        assert left.withdrawal is not None
        assert left.withdrawal.reason == "Wrong labels.\nSee erratum."
        assert timezone.now() - left.withdrawal.at < timedelta(minutes=1)
        assert left == as_withdrawn(before, left)
        row.refresh_from_db()
        assert (row.mlmodel, row.revision) == (None, None)
        assert (row.withdrawn_at, row.reason) == (left.withdrawal.at, left.withdrawal.reason)
    told = AuditEntry.objects.get(action="mlmodel.delete").detail
    assert told == {"reason": "Wrong labels.\nSee erratum."}


def test_tagged_versions_stay_whole_and_others_by_their_cards(
    galaxy: MLModel, charlie: User
) -> None:
    second = revision_get(galaxy)
    ref_create(actor=charlie, mlmodel=galaxy, kind=RefKind.TAG, name="v1", revision=second)
    card = readme(
        title="Middle",
        license="mit",
        tags=["between"],
        limitations="Fails where the sky is cloudy.",
        intended_use="Surveys of the sky.",
        papers=["10.1038/s41597-022-01712-9"],
        datasets=["unheard-of"],
        parameters="7B",
    )
    third = commit_files(galaxy, {"README.md": card}, actor=charlie)
    commit_files(galaxy, {"README.md": readme(title="Last")}, actor=charlie)
    galaxy.refresh_from_db()
    tagged = described(second, galaxy)
    middle = described(third, galaxy)
    of_second, of_third, of_fourth = versions(galaxy)
    mlmodel_delete(actor=charlie, mlmodel=galaxy)

    assert left_of(of_fourth).title == "Last"
    left = left_of(of_second)
    assert left.version == "v1"
    assert left == as_withdrawn(tagged, left)
    lesser = left_of(of_third)
    same = ("pid", "concept_pid", "landing", "concept_landing", "linkset_url", "crate_url", "title",
            "oid", "tree_oid", "created", "published", "license", "keywords", "owner", "hub",
            "repository", "name", "swhid", "limitations", "intended_use", "papers", "datasets",
            "unknown")  # fmt: skip
    for name in same:
        assert getattr(lesser, name) == getattr(middle, name), name
    assert (lesser.status, lesser.files) == ("withdrawn", ())
    assert left_of(of_fourth).pid in lesser.versions


def test_nothing_stays_of_what_is_private(secret: MLModel, charlie: User) -> None:
    rows = versions(secret)
    mlmodel_delete(actor=charlie, mlmodel=secret, reason="Not ready.")
    assert withdrawn_get(MODEL, "lab/secret") is None
    for row in rows:
        for actor in (NOBODY, charlie, None):
            with pytest.raises(NotFound):
                identifier_get(actor, row.name)
        row.refresh_from_db()
        assert row.description is None


def test_what_was_hidden_before_it_was_deleted_stays_hidden(galaxy: MLModel, charlie: User) -> None:
    shown = mlmodel_get(charlie, galaxy.full_name)
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility="private")
    # By whoever read it before it was hidden, too.
    mlmodel_delete(actor=charlie, mlmodel=shown)
    assert withdrawn_get(MODEL, "lab/galaxy-cnn") is None
    assert not Identifier.objects.filter(description__isnull=False).exists()


def test_what_was_hidden_since_is_named_no_more_by_what_is_left(
    galaxy: MLModel, charlie: User, bob: User
) -> None:
    data = make_mlmodel("lab/galaxies", actor=charlie, kind=RepositoryKind.DATASET)
    copy = fork(actor=bob, source=galaxy, namespace="bob", name="mine")
    commit_files(copy, {"README.md": readme(datasets=["lab/galaxies"])}, actor=bob)
    mlmodel_delete(actor=bob, mlmodel=copy)
    named = [str(one.name) for one in Identifier.objects.filter(mlmodel__in=[galaxy, data])]

    def left() -> tuple[Description, str]:
        found = withdrawn_get(MODEL, "bob/mine")
        assert found is not None
        assert found.description is not None
        return found.description, repr(found.description)

    whole, text = left()
    assert ("lab/galaxy-cnn" in text, sum(name in text for name in named)) == (True, 2)
    assert {one.kind for one in whole.activities} == {"publish", "fork", "train"}
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility="private")
    mlmodel_update(actor=charlie, mlmodel=data, visibility="private")
    less, text = left()
    assert ("lab/galaxy-cnn" in text, sum(name in text for name in named)) == (False, 0)
    assert (less.derived_from, {one.kind for one in less.activities}) == ((), {"publish", "train"})
    # What its author wrote stays, and leads nowhere.
    assert [(one.name, one.url, one.pid) for one in less.datasets] == [("lab/galaxies", None, None)]
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility="public")
    mlmodel_update(actor=charlie, mlmodel=data, visibility="public")
    mlmodel_delete(actor=charlie, mlmodel=data)
    assert left()[0] == whole


def test_names_are_kept_for_ever(galaxy: MLModel, charlie: User) -> None:
    names = set(Identifier.objects.values_list("name", flat=True))
    mlmodel_delete(actor=charlie, mlmodel=galaxy)
    again = make_mlmodel("lab/galaxy-cnn", actor=charlie)
    assert set(Identifier.objects.values_list("name", flat=True)) > names
    assert not names & set(again.identifiers.values_list("name", flat=True))
    assert {left_of(row).repository for row in Identifier.objects.filter(name__in=names)} == {
        "lab/galaxy-cnn"
    }


def test_what_is_left_is_found_where_it_was_found(galaxy: MLModel, charlie: User) -> None:
    oid = revision_get(galaxy).oid
    mlmodel_move(actor=charlie, mlmodel=galaxy, namespace="lab", name="stars")
    mlmodel_delete(actor=charlie, mlmodel=galaxy)
    former = withdrawn_get(MODEL, "lab/galaxy-cnn")
    assert former is not None
    assert former.identifier.full_name == "lab/stars"
    assert withdrawn_get(RepositoryKind.DATASET, "lab/stars") is None
    for rev, kind in ((None, "concept"), ("main", "concept"), (oid, "version"),
                      (oid[:8].upper(), "version")):  # fmt: skip
        left = withdrawn_get(MODEL, "LAB/Stars", rev)
        assert left is not None
        assert (left.identifier.kind, left.mlmodel) == (kind, None)
        assert left.description is not None
        assert left.description.oid == oid
    assert withdrawn_get(MODEL, "lab/stars", "0" * 40) is None


@pytest.mark.parametrize("full_name", ["lab/\x00", "lab", "", "a/b/c", "lab/é", "../.."])
def test_no_address_breaks_the_search(galaxy: MLModel, full_name: str) -> None:
    assert withdrawn_get(MODEL, full_name) is None
    assert withdrawn_get(MODEL, full_name, "\x00") is None


def test_what_came_to_the_same_name_later_hides_no_version(galaxy: MLModel, charlie: User) -> None:
    oid = revision_get(galaxy).oid
    mlmodel_delete(actor=charlie, mlmodel=galaxy, reason="first")
    again = make_mlmodel("lab/galaxy-cnn", actor=charlie)
    assert withdrawn_get(MODEL, again.full_name, "main", mlmodel=again) is None
    left = withdrawn_get(MODEL, again.full_name, oid, mlmodel=again)
    assert left is not None
    assert (left.identifier.reason, left.identifier.mlmodel) == ("first", None)
    mlmodel_delete(actor=charlie, mlmodel=again, reason="second")
    newest = withdrawn_get(MODEL, "lab/galaxy-cnn")
    assert newest is not None
    assert newest.identifier.reason == "second"


def test_a_version_that_is_swept_up_leaves_its_record(galaxy: MLModel, charlie: User) -> None:
    lost = revision_get(galaxy)
    before = described(lost, galaxy)
    row = versions(galaxy)[-1]
    squash(actor=charlie, mlmodel=galaxy, branch="main", message="one")
    # What work waits for is kept, and what is young.
    Job.objects.all().delete()
    Revision.objects.update(created_at=before.created - timedelta(days=2))
    assert revisions_prune(before=timezone.now() - timedelta(days=1)) == 2
    left = left_of(row)
    assert left.withdrawal is not None
    assert "No branch" in (left.withdrawal.reason or "")
    assert left.files == as_withdrawn(before, left).files
    found = withdrawn_get(MODEL, galaxy.full_name, lost.oid, mlmodel=galaxy)
    assert found is not None
    assert (found.identifier, found.mlmodel) == (row, galaxy)
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility="private")
    with pytest.raises(NotFound):
        identifier_get(NOBODY, row.name)
    mlmodel_delete(actor=charlie, mlmodel=galaxy)
    row.refresh_from_db()
    assert row.description is None


@pytest.mark.parametrize("reason", ["x" * 2001, "a\x00b"])
def test_a_reason_nobody_can_read_is_refused(galaxy: MLModel, charlie: User, reason: str) -> None:
    with pytest.raises(Invalid):
        mlmodel_delete(actor=charlie, mlmodel=galaxy, reason=reason)
    assert MLModel.objects.exists()
