"""Another name, another namespace: what was known by the old one is still found."""

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Conflict, Forbidden, Invalid, NotFound
from registry.selectors.fair.identifier import withdrawn_get
from registry.selectors.repository.mlmodel import (
    mlmodel_get,
    repository_get,
    repository_moved,
    repository_replaced,
)
from registry.selectors.repository.revision import revision_get
from registry.services.people.account import member_set
from registry.services.repository.mlmodel import (
    mlmodel_create,
    mlmodel_delete,
    mlmodel_move,
    mlmodel_update,
)
from registry.states import RepositoryKind, Role
from registry.tables import AuditEntry, FormerName, MLModel, Namespace, OutboxEntry, User
from tests.factories import make_mlmodel, make_token, member

MODEL = RepositoryKind.MODEL


@pytest.fixture
def net(alice: User) -> MLModel:
    return make_mlmodel("alice/net", actor=alice, files={"a.txt": b"a"})


def leads_to(name: str, kind: RepositoryKind = MODEL) -> str:
    """Where the former name ``name`` leads; empty if nowhere."""
    moved = repository_moved(None, kind, name)
    return moved.full_name if moved else ""


def test_every_old_name_leads_to_the_newest(net: MLModel, alice: User) -> None:
    for name in ("one", "two", "three"):
        mlmodel_move(actor=alice, mlmodel=net, namespace="alice", name=name)
    assert mlmodel_get(alice, "alice/three") == net
    assert {leads_to(f"Alice/{old}") for old in ("net", "ONE", "two")} == {"alice/three"}
    assert leads_to("alice/three") == ""
    assert leads_to("alice/net", RepositoryKind.DATASET) == ""


def test_moving_back_is_moving(net: MLModel, alice: User) -> None:
    mlmodel_move(actor=alice, mlmodel=net, namespace="alice", name="other")
    mlmodel_move(actor=alice, mlmodel=net, namespace="alice", name="net")
    assert (mlmodel_get(alice, "alice/net"), leads_to("alice/other")) == (net, "alice/net")
    assert FormerName.objects.count() == 1


def test_a_name_given_away_is_free_for_something_new(net: MLModel, alice: User) -> None:
    mlmodel_move(actor=alice, mlmodel=net, namespace="alice", name="other")
    new = mlmodel_create(actor=alice, namespace="alice", name="NET")
    assert (mlmodel_get(alice, "alice/net"), leads_to("alice/net")) == (new, "")
    mlmodel_move(actor=alice, mlmodel=new, namespace="alice", name="third")
    assert leads_to("alice/net") == "alice/third"
    mlmodel_move(actor=alice, mlmodel=net, namespace="alice", name="net")
    assert (leads_to("alice/net"), leads_to("alice/other")) == ("", "alice/net")
    rows = FormerName.objects.exclude(replaced_at=None)
    assert [(row.namespace, row.name, row.mlmodel) for row in rows] == [("alice", "NET", new)]


def test_a_change_of_case_leaves_nothing_behind(net: MLModel, alice: User) -> None:
    mlmodel_move(actor=alice, mlmodel=net, namespace="ALICE", name="Net")
    assert mlmodel_get(alice, "alice/net").full_name == "alice/Net"
    assert not FormerName.objects.exists()


def test_a_name_in_use_is_kept_by_whoever_has_it(net: MLModel, alice: User) -> None:
    make_mlmodel("alice/Taken", actor=alice)
    for name in ("taken", "net"):
        with pytest.raises(Conflict) as caught:
            mlmodel_move(actor=alice, mlmodel=net, namespace="alice", name=name)
        assert caught.value.code == "model_exists"
        assert f"A model repository called alice/{name} already exists" in str(caught.value)
    # A data set's name is in nobody's way.
    data = mlmodel_create(actor=alice, namespace="alice", name="d", kind=RepositoryKind.DATASET)
    mlmodel_move(actor=alice, mlmodel=data, namespace="alice", name="taken")
    assert repository_get(alice, RepositoryKind.DATASET, "alice/Taken") == data
    assert [row.full_name for row in MLModel.objects.filter(kind=MODEL).order_by("pk")] == [
        "alice/net",
        "alice/Taken",
    ]


def test_it_goes_only_from_and_to_where_the_mover_may_write(
    net: MLModel, lab: Namespace, alice: User, bob: User, charlie: User
) -> None:
    member_set(actor=charlie, namespace=lab, user=alice, role=Role.READ)
    limited = member("alice")
    limited.token = limited.tokens.get(digest=make_digest(limited, lab))
    for actor, namespace in ((alice, "lab"), (alice, "bob"), (bob, "bob"), (limited, "alice")):
        with pytest.raises(Forbidden):
            mlmodel_move(actor=actor, mlmodel=net, namespace=namespace, name="net2")
    with pytest.raises(NotFound):
        mlmodel_move(actor=alice, mlmodel=net, namespace="nobody", name="net")
    with pytest.raises(Invalid):
        mlmodel_move(actor=alice, mlmodel=net, namespace="alice", name="../net")
    member_set(actor=charlie, namespace=lab, user=alice, role=Role.WRITE)
    mlmodel_move(actor=alice, mlmodel=net, namespace="lab", name="net")
    assert mlmodel_get(None, "lab/net").created_by == alice
    assert leads_to("alice/net") == "lab/net"


def make_digest(user: User, namespace: Namespace) -> str:
    make_token(user, namespace=namespace)
    return user.tokens.latest("pk").digest


def test_both_namespaces_and_the_index_hear_of_it(
    net: MLModel, lab: Namespace, charlie: User
) -> None:
    OutboxEntry.objects.all().delete()
    mlmodel_move(actor=None, mlmodel=net, namespace="lab", name="net")
    assert {row.mlmodel_uuid for row in OutboxEntry.objects.all()} == {net.uuid}
    entries = AuditEntry.objects.filter(action__in=["mlmodel.move", "mlmodel.receive"])
    assert [(e.namespace, e.subject, e.detail) for e in entries.order_by("pk")] == [
        ("alice", "alice/net", {"to": "lab/net"}),
        ("lab", "lab/net", {"from": "alice/net"}),
    ]


def test_an_old_name_tells_strangers_of_nothing_private(net: MLModel, alice: User) -> None:
    mlmodel_move(actor=alice, mlmodel=net, namespace="alice", name="hidden")
    mlmodel_update(actor=alice, mlmodel=net, visibility="private")
    assert repository_moved(AnonymousUser(), MODEL, "alice/net") is None
    assert repository_moved(alice, MODEL, "alice/net") == net


def test_old_names_of_what_was_private_go_with_it(net: MLModel, alice: User) -> None:
    mlmodel_move(actor=alice, mlmodel=net, namespace="alice", name="other")
    mlmodel_update(actor=alice, mlmodel=net, visibility="private")
    mlmodel_delete(actor=alice, mlmodel=net)
    assert not FormerName.objects.exists()


def test_old_names_of_a_deleted_one_lead_to_its_record(net: MLModel, alice: User) -> None:
    mlmodel_move(actor=alice, mlmodel=net, namespace="alice", name="other")
    mlmodel_delete(actor=alice, mlmodel=net, reason="wrong")
    record = withdrawn_get(MODEL, "Alice/NET")
    assert record is not None
    assert (record.identifier.full_name, record.identifier.reason) == ("alice/other", "wrong")
    # The name was used again and given up again: the last one there comes first.
    new = mlmodel_create(actor=alice, namespace="alice", name="net")
    mlmodel_delete(actor=alice, mlmodel=new, reason="empty")
    record = withdrawn_get(MODEL, "alice/net")
    assert record is not None
    assert record.identifier.reason == "empty"


def test_versions_of_a_moved_one_are_distinguished_from_those_of_its_successor(
    net: MLModel, alice: User
) -> None:
    oid = revision_get(net).oid
    assert repository_replaced(alice, MODEL, "alice/net", oid) is None, "it has its name"
    mlmodel_move(actor=alice, mlmodel=net, namespace="alice", name="other")
    mlmodel_create(actor=alice, namespace="alice", name="net")
    for rev in (oid, oid[:7], oid.upper()):
        assert repository_replaced(alice, MODEL, "Alice/net", rev) == net, rev
    for rev in ("", "main", oid[:6], "0" * 40, "\0"):
        assert repository_replaced(alice, MODEL, "alice/net", rev) is None, rev
    assert repository_replaced(alice, RepositoryKind.DATASET, "alice/net", oid) is None
    mlmodel_update(actor=alice, mlmodel=net, visibility="private")
    assert repository_replaced(AnonymousUser(), MODEL, "alice/net", oid) is None


@pytest.mark.parametrize("name", ["", "alice", "/", "alice/", "a/b/c", "alice/n\0t", "é/é"])
def test_what_is_no_name_leads_nowhere(db: None, name: str) -> None:
    assert leads_to(name) == ""
