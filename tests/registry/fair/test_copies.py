"""A copy is a copy: whose work it is, and what it is said to be made from."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.core.cache import cache
from django.db import connection

from registry.fair.description import Description
from registry.selectors.fair.description import describe
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_update
from registry.services.repository.revision import Copy, commit
from registry.states import Relation
from registry.tables import Derivation, File, MLModel, User
from tests.factories import commit_files, make_mlmodel, readme, tiny_onnx

pytestmark = pytest.mark.django_db
AUTHORS = ["Josiah Carberry", "Ada Beispiel"]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    cache.clear()


@pytest.fixture
def original(alice: User) -> MLModel:
    files = {"README.md": readme(license="mit", authors=AUTHORS), "model.onnx": tiny_onnx()}
    return make_mlmodel("alice/net", actor=alice, files=files)


def told(mlmodel: MLModel) -> Description:
    cache.clear()
    fresh = mlmodel_get(None, mlmodel.full_name)
    revision = revision_get(fresh)
    revision.mlmodel = fresh
    return describe(revision)


def relations(mlmodel: MLModel) -> list[tuple[str, str]]:
    return [(one.relation, one.source) for one in told(mlmodel).derived_from]


def creators(mlmodel: MLModel) -> list[str]:
    return [one.name for one in told(mlmodel).creators]


def copied(source: MLModel, actor: User, name: str, **card: Any) -> MLModel:
    """A copy of the network of ``source`` with a card of its own."""
    made = make_mlmodel(name, actor=actor, files={"README.md": readme(license="mit", **card)})
    copy = Copy("model.onnx", "model.onnx", revision_get(source).oid, source)
    commit(actor=actor, mlmodel=made, message="Copy", operations=[copy])
    return made


@pytest.mark.parametrize("relation", ["finetune", None, "merge"])
def test_equal_bytes_are_a_copy_whatever_the_card_says(
    original: MLModel, bob: User, relation: str | None
) -> None:
    stated = {"base_model_relation": relation} if relation else {}
    card = readme(license="mit", base_model="alice/net", **stated)
    files = {"README.md": card, "weights/model.onnx": tiny_onnx()}
    copy = make_mlmodel("bob/net", actor=bob, files=files)
    assert relations(copy) == [("copy", "alice/net")]
    assert [one.kind for one in told(copy).activities] == ["publish"]
    (row,) = revision_get(copy).derivations.all()
    assert row.source_oid == revision_get(original).oid


def test_other_bytes_are_what_the_card_says(original: MLModel, bob: User) -> None:
    stated = {"base_model": "alice/net", "base_model_relation": "finetune"}
    files = {"README.md": readme(license="mit", **stated), "model.onnx": tiny_onnx() + b"\0"}
    assert relations(make_mlmodel("bob/net", actor=bob, files=files)) == [("finetune", "alice/net")]
    # Equal configurations make no copy.
    for name in ("base", "tuned"):
        card = readme(license="mit", **(stated | {"base_model": "alice/base"}))
        files = {"README.md": card if name == "tuned" else readme(), "config.json": "{}"}
        made = make_mlmodel(f"alice/{name}", actor=None, files=files)
    assert relations(made) == [("finetune", "alice/base")]


def test_a_card_without_authors_names_those_of_the_original(original: MLModel, bob: User) -> None:
    copy = copied(original, bob, "bob/net")
    assert (relations(copy), creators(copy)) == ([("copy", "alice/net")], AUTHORS)
    again = copied(copy, bob, "bob/again")
    assert creators(again) == AUTHORS
    own = copied(original, bob, "bob/own", authors=["Grace Helper"])
    assert creators(own) == ["Grace Helper"]


def test_a_fork_keeps_the_authors_until_it_is_another_work(original: MLModel, bob: User) -> None:
    made = fork(actor=bob, source=original, namespace="bob", name="net")
    assert creators(made) == AUTHORS
    commit_files(made, {"README.md": readme(license="mit")}, actor=bob)
    assert creators(made) == AUTHORS
    commit_files(made, {"model.onnx": tiny_onnx() + b"\0"}, actor=bob)
    assert creators(made) == []


def test_nobody_learns_of_the_authors_of_what_is_hidden(original: MLModel, bob: User) -> None:
    copy = copied(original, bob, "bob/net")
    mlmodel_update(actor=None, mlmodel=original, visibility="private")
    assert (relations(copy), creators(copy)) == ([], [])


def test_the_authors_outlive_the_original(original: MLModel, alice: User, bob: User) -> None:
    copy = copied(original, bob, "bob/net")
    mlmodel_delete(actor=alice, mlmodel=original, reason="Moved.")
    assert creators(copy) == AUTHORS


def test_a_cited_source_signs_no_evaluation(alice: User) -> None:
    result = {
        "task": {"type": "image-classification"},
        "dataset": {"name": "Galaxy Zoo", "type": "galaxy-zoo"},
        "metrics": [{"type": "accuracy", "value": 0.98}],
        "source": {"name": "Elsewhere", "url": "https://example.org/results"},
    }
    index = [{"name": "net", "results": [result]}]
    made = make_mlmodel(
        "alice/net", actor=alice, files={"README.md": readme(**{"model-index": index})}
    )
    assert [one.by for one in told(made).evaluations] == ["author"]


class FormerTables:
    """The tables at that migration: a row of a file named the one revision that had it."""

    def get_model(self, app: str, name: str) -> Any:
        if name != "File":
            return apps.get_model(app, name)
        return SimpleNamespace(objects=SimpleNamespace(using=lambda _: self))

    def filter(self, *, revision: int) -> Any:
        return File.objects.of([revision])


def test_copies_of_before_are_corrected(original: MLModel, bob: User) -> None:
    migration = import_module("registry.migrations.0011_copies")
    stated = {"base_model": "alice/net", "base_model_relation": "finetune"}
    copy = make_mlmodel(
        "bob/net",
        actor=bob,
        files={"README.md": readme(license="mit", **stated), "model.onnx": tiny_onnx()},
    )
    tuned = make_mlmodel(
        "bob/tuned",
        actor=bob,
        files={"README.md": readme(license="mit", **stated), "model.onnx": tiny_onnx() + b"\0"},
    )
    Derivation.objects.update(relation=Relation.FINETUNE, source_oid="")
    migration.correct(FormerTables(), SimpleNamespace(connection=connection))
    assert relations(copy) == [("copy", "alice/net")]
    assert relations(tuned) == [("finetune", "alice/net")]
