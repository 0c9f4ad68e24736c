"""What versions were made from: written down with the commit, told to those who may read it."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.core.cache import cache
from django.db import connection

from registry.errors import Invalid
from registry.fair.parts import DerivationDescription as Part
from registry.selectors.fair.derivation import lineage
from registry.selectors.fair.description import describe
from registry.selectors.fair.origin import imported_version
from registry.selectors.repository.findings import findings_of
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.discussion.discussion import pull_request_open
from registry.services.discussion.merge import pull_request_merge
from registry.services.fair.derivation import ModelOrigin
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_move, mlmodel_update
from registry.services.repository.ref import ref_create
from registry.services.repository.revision import Add, Copy, Operation, commit
from registry.states import RefKind, Relation, RepositoryKind
from registry.tables import Derivation, Identifier, MLModel, Revision, User
from tests.factories import commit_files, make_mlmodel, readme, store

pytestmark = pytest.mark.django_db

HUB = "http://127.0.0.1:8000"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    cache.clear()


def rows(revision: Revision) -> list[tuple[str, str, str, str]]:
    """Relation, what was written, where it leads, and the commit there."""
    return [
        (
            row.relation,
            row.source,
            row.source_mlmodel.full_name if row.source_mlmodel else "",
            row.source_oid,
        )
        for row in revision.derivations.order_by("pk")
    ]


def made_from(actor: User, name: str, **card: Any) -> MLModel:
    return make_mlmodel(name, actor=actor, files={"README.md": readme(**card)})


def told(mlmodel: MLModel) -> tuple[Part, ...]:
    """The sources in the record of the newest version, asked for as a request asks."""
    cache.clear()
    fresh = mlmodel_get(None, mlmodel.full_name)
    revision = revision_get(fresh)
    revision.mlmodel = fresh
    return describe(revision).derived_from


def test_a_base_model_of_this_hub_is_led_to(galaxy: MLModel, alice: User) -> None:
    base = revision_get(galaxy)
    ref_create(actor=None, mlmodel=galaxy, kind=RefKind.TAG, name="v1", revision=base)
    tuned = made_from(
        alice, "alice/tuned", base_model="Lab/galaxy-CNN@v1", base_model_relation="finetune"
    )
    assert rows(revision_get(tuned)) == [("finetune", "Lab/galaxy-CNN", "lab/galaxy-cnn", base.oid)]
    (source,) = told(tuned)
    version = Identifier.objects.get(revision=base).name
    assert (source.source, source.oid) == ("lab/galaxy-cnn", base.oid)
    assert source.url == f"{HUB}/lab/galaxy-cnn?revision={base.oid}"
    assert source.pid == f"{HUB}/ark:/99999/{version}"


def test_identifiers_and_addresses_of_this_hub_lead_there_too(galaxy: MLModel, alice: User) -> None:
    head = revision_get(galaxy)
    name = Identifier.objects.get(revision=head).name
    for number, text in enumerate(
        (
            f"ark:/99999/{name}",
            f"{HUB}/ark:/99999/{name}",
            f"{HUB}/lab/galaxy-cnn?revision={head.oid}",
        )
    ):
        made = made_from(alice, f"alice/net-{number}", base_model=text)
        assert rows(revision_get(made)) == [("derived", text, "lab/galaxy-cnn", head.oid)]


def test_what_lies_elsewhere_is_kept_as_written(alice: User) -> None:
    bases = ["meta/llama@v2", "https://huggingface.co/gpt2", "10.1038/s41597-022-01712-9"]
    made = made_from(alice, "alice/merged", base_model=bases)
    assert rows(revision_get(made)) == [("merge", text, "", "") for text in bases]
    assert [one.url for one in told(made)] == [
        None,
        "https://huggingface.co/gpt2",
        "https://doi.org/10.1038/s41597-022-01712-9",
    ]


def test_a_circle_is_a_finding_and_no_row_and_the_model_stays(alice: User) -> None:
    first = made_from(alice, "alice/first")
    made_from(alice, "alice/second", base_model="alice/first")
    head = commit_files(first, {"README.md": readme(base_model="alice/second")}, actor=alice)
    assert rows(head) == []
    (circle,) = [one for one in findings_of(head) if one.code == "base_model_circular"]
    assert (circle.line, "alice/first from alice/second" in circle.message) == (2, True)
    assert told(mlmodel_get(None, "alice/second"))[0].source == "alice/first"


def test_every_version_of_a_fork_came_from_the_same_one_there(galaxy: MLModel, bob: User) -> None:
    commit_files(galaxy, {"README.md": readme(base_model="some/base")})
    copy = fork(actor=bob, source=galaxy, namespace="bob", name="mine")
    for revision in copy.revisions.all():
        fork_rows = [row for row in rows(revision) if row[0] == Relation.FORK]
        assert fork_rows == [("fork", "lab/galaxy-cnn", "lab/galaxy-cnn", revision.oid)]
    head = revision_get(copy)
    assert ("derived", "some/base", "", "") in rows(head)
    newer = commit_files(copy, {"new.txt": "n"}, actor=bob)
    # The card still says so, and the hub still knows.
    assert rows(newer) == [
        ("derived", "some/base", "", ""),
        ("fork", "lab/galaxy-cnn", "lab/galaxy-cnn", head.oid),
    ]
    assert {one.kind for one in describe(newer).activities} == {"publish", "fork"}


def test_what_was_hidden_is_named_no_more_where_the_hub_knew_it_by_itself(
    galaxy: MLModel, bob: User
) -> None:
    copy = fork(actor=bob, source=galaxy, namespace="bob", name="mine")
    assert [one.source for one in told(copy)] == ["lab/galaxy-cnn"]
    mlmodel_update(actor=None, mlmodel=galaxy, visibility="private")
    assert told(copy) == ()


def test_a_source_is_followed_when_it_moves_and_its_record_when_it_goes(
    galaxy: MLModel, alice: User, charlie: User
) -> None:
    made = made_from(alice, "alice/tuned", base_model="lab/galaxy-cnn")
    mlmodel_move(actor=charlie, mlmodel=galaxy, namespace="lab", name="stars-cnn")
    assert told(made)[0].source == "lab/stars-cnn"
    later = made_from(alice, "alice/later", base_model="lab/galaxy-cnn")
    assert rows(revision_get(later))[0][2] == "lab/stars-cnn"
    concept = Identifier.objects.get(mlmodel=galaxy, kind="concept").name
    again = made_from(alice, "alice/again", base_model="lab/stars-cnn")
    mlmodel_delete(actor=charlie, mlmodel=galaxy)
    (source,) = told(again)
    assert (source.source, source.pid) == ("lab/stars-cnn", f"{HUB}/ark:/99999/{concept}")


def test_what_merely_has_the_name_of_what_is_gone_is_not_it(
    galaxy: MLModel, alice: User, charlie: User
) -> None:
    before = made_from(alice, "alice/before", base_model="lab/x")
    data = make_mlmodel("lab/x", actor=charlie, kind=RepositoryKind.DATASET)
    mlmodel_delete(actor=charlie, mlmodel=data)
    mlmodel_move(actor=charlie, mlmodel=galaxy, namespace="lab", name="x")
    # However it is written, and twice.
    ark = f"ark:/99999/{Identifier.objects.get(mlmodel=galaxy, kind='concept').name}"
    made = made_from(alice, "alice/made", base_model=["LAB/x", ark], base_model_relation="merge")
    mlmodel_delete(actor=charlie, mlmodel=galaxy)
    after = made_from(alice, "alice/after", base_model="lab/x")
    for other in (before, after):
        (source,) = told(other)
        assert (source.source, source.pid, source.url) == ("lab/x", None, None)
    (source,) = told(made)
    assert (source.source, source.pid) == ("lab/x", f"{HUB}/{ark}")
    graph = lineage(None, made, revision_get(made))
    assert [(one.name, one.url) for one in graph.nodes if one.steps] == [("lab/x", f"{HUB}/{ark}")]


def test_copied_files_are_noted_also_across_a_merge(
    galaxy: MLModel, alice: User, bob: User
) -> None:
    net = make_mlmodel("alice/net", actor=alice)
    pull = pull_request_open(actor=bob, mlmodel=net, title="A network")
    operations: list[Operation] = [
        Copy("model.onnx", "model.onnx", "main", galaxy),
        Add("note.txt", store(b"copied", bob).sha256),
    ]
    line = commit(
        actor=bob,
        mlmodel=net,
        branch=f"refs/pr/{pull.num}",
        message="Copy",
        operations=operations,
        is_checked=False,
    )
    noted = [("copy", "lab/galaxy-cnn", "lab/galaxy-cnn", revision_get(galaxy).oid)]
    assert rows(line) == noted
    assert rows(pull_request_merge(actor=alice, pull=pull)) == noted


def test_what_cards_said_before_is_written_down(galaxy: MLModel, alice: User) -> None:
    made = made_from(alice, "alice/old", base_model=["lab/Galaxy-cnn", "x/y@v1"])
    Derivation.objects.all().delete()
    migration = import_module("registry.migrations.0007_derivations")
    migration.derive(apps, SimpleNamespace(connection=connection))
    migration.derive(apps, SimpleNamespace(connection=connection))
    assert rows(revision_get(made)) == [
        ("merge", "lab/Galaxy-cnn", "lab/galaxy-cnn", ""),
        ("merge", "x/y@v1", "", ""),
    ]


def test_an_import_names_its_origin_until_the_next_one(galaxy: MLModel, alice: User) -> None:
    url, first, second = "https://hf.example.org/far/net", "1" * 40, "2" * 40

    def add(text: str, oid: str | None) -> Revision:
        return commit(
            actor=None,
            mlmodel=galaxy,
            message=text,
            operations=[Add("note.txt", store(text.encode()).sha256)],
            imported=ModelOrigin(url, oid) if oid else None,
        )

    brought = add("one", first)
    assert rows(add("edited here", None)) == [("import", url, "", first)]
    edited = imported_version(add("edited again", None))
    assert edited is not None
    assert edited.revision == brought
    assert told(galaxy)[0].url == f"{url}/tree/{first}"
    assert rows(add("two", second)) == [("import", url, "", second)]
    copy = fork(actor=alice, source=galaxy, namespace="alice", name="copy")
    assert ("import", url, "", second) in rows(revision_get(copy))


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://", "https://user:x@host/a/b"])
def test_an_origin_is_an_address_of_the_web(url: str) -> None:
    with pytest.raises(Invalid, match="The address"):
        ModelOrigin(url, "1" * 40)


def test_no_card_states_an_import(alice: User) -> None:
    made = made_from(alice, "alice/made", base_model="far/net", base_model_relation="import")
    assert [relation for relation, *_ in rows(revision_get(made))] == ["derived"]
