"""The graph of what was made from what, as far as the asker may know."""

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.selectors.access import Actor
from registry.selectors.fair import derivation
from registry.selectors.fair.derivation import Lineage, ancestors, lineage
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.repository.fork import fork
from registry.tables import Derivation, MLModel, User
from tests.factories import commit_files, make_mlmodel, readme

pytestmark = pytest.mark.django_db

NOBODY = AnonymousUser()


def made_from(actor: User, name: str, *bases: str, visibility: str = "public") -> MLModel:
    card = readme(base_model=list(bases)) if bases else readme()
    return make_mlmodel(name, actor=actor, visibility=visibility, files={"README.md": card})


def graph(name: str, actor: Actor = NOBODY) -> Lineage:
    mlmodel = mlmodel_get(None, name)
    return lineage(actor, mlmodel, revision_get(mlmodel))


def steps(found: Lineage) -> dict[str, int]:
    return {node.name: node.steps for node in found.nodes}


def edges(found: Lineage) -> set[tuple[str, str, str]]:
    names = {node.key: node.name for node in found.nodes}
    return {(names[one.derived], one.relation, names[one.source]) for one in found.edges}


def test_it_goes_up_to_the_origins_and_down_to_all_that_was_made(alice: User, bob: User) -> None:
    made_from(alice, "alice/base", "elsewhere/origin")
    middle = made_from(alice, "alice/middle", "alice/base")
    made_from(alice, "alice/leaf", "alice/middle")
    fork(actor=bob, source=middle, namespace="bob", name="fork")
    found = graph("alice/middle")
    assert steps(found) == {
        "elsewhere/origin": -2,
        "alice/base": -1,
        "alice/middle": 0,
        "alice/leaf": 1,
        "bob/fork": 1,
    }
    assert edges(found) >= {
        ("alice/base", "derived", "elsewhere/origin"),
        ("alice/middle", "derived", "alice/base"),
        ("alice/leaf", "derived", "alice/middle"),
        ("bob/fork", "fork", "alice/middle"),
    }
    assert found.is_whole
    assert ancestors("alice/middle") == ("alice/base",)
    # A fork's base is that of its source; the fork itself is no base.
    assert ancestors("bob/fork") == ("alice/base",)


def test_the_origin_of_one_version_is_that_of_the_version_it_names(alice: User) -> None:
    base = made_from(alice, "alice/base", "old/origin")
    old = revision_get(base)
    made_from(alice, "alice/tuned", f"alice/base@{old.oid}")
    commit_files(base, {"README.md": readme(base_model="new/origin")}, actor=alice)
    assert set(steps(graph("alice/tuned"))) == {"alice/tuned", "alice/base", "old/origin"}
    assert set(steps(graph("alice/base"))) == {"alice/tuned", "alice/base", "new/origin"}


def test_the_hidden_is_hidden(alice: User, bob: User) -> None:
    secret = made_from(alice, "alice/secret", visibility="private")
    copy = fork(actor=alice, source=secret, namespace="alice", name="shown", visibility="public")
    made_from(alice, "alice/hidden-too", "alice/shown", visibility="private")
    assert steps(graph("alice/shown")) == {"alice/shown": 0}
    assert steps(graph("alice/shown", bob)) == {"alice/shown": 0}
    assert steps(graph("alice/shown", alice)) == {
        "alice/secret": -1,
        "alice/shown": 0,
        "alice/hidden-too": 1,
    }
    assert ancestors("alice/secret") == ()
    assert ancestors(copy.full_name) == ()


def test_circles_end_where_they_close(alice: User) -> None:
    first = made_from(alice, "alice/first")
    second = made_from(alice, "alice/second", "alice/first")
    # Such as two commits in the same moment leave.
    Derivation.objects.create(
        revision=revision_get(first),
        relation="derived",
        source="alice/second",
        source_mlmodel=second,
    )
    found = graph("alice/first")
    assert set(steps(found)) == {"alice/first", "alice/second"}
    assert edges(found) == {
        ("alice/first", "derived", "alice/second"),
        ("alice/second", "derived", "alice/first"),
    }
    assert ancestors("alice/first") == ("alice/second",)


def test_too_much_is_cut_and_said_so(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation, "MAX_NODES", 4)
    made_from(alice, "alice/merged", *(f"elsewhere/part-{number}" for number in range(9)))
    found = graph("alice/merged")
    assert (len(found.nodes), found.is_whole) == (4, False)
    assert all(edge.derived in {node.key for node in found.nodes} for edge in found.edges)


def test_nobody_has_ancestors_who_is_not_there() -> None:
    assert ancestors("no/body") == ()
