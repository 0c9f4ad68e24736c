"""Every write of accounts and storage leaves its line in the trail."""

from typing import Any

import pytest

from registry.errors import RegistryError
from registry.selectors.people.account import user_of_token
from registry.selectors.repository.revision import revision_get
from registry.services.people.account import member_remove, member_set, organisation_create
from registry.services.people.token import token_issue, token_revoke
from registry.services.repository.mlmodel import mlmodel_create, mlmodel_delete, mlmodel_update
from registry.services.repository.ref import ref_create, ref_delete
from registry.services.repository.revision import Add, commit
from registry.states import RefKind, Role, Scope
from registry.tables import AuditEntry, User
from tests.factories import make_token, store


def test_the_trail_tells_a_models_whole_life(alice: User, bob: User) -> None:
    lab = organisation_create(actor=alice, name="lab")
    member_set(actor=alice, namespace=lab, user=bob, role=Role.WRITE)
    net = mlmodel_create(actor=bob, namespace="lab", name="net")
    blob = store(b"x", bob)
    made = commit(
        actor=bob,
        mlmodel=net,
        message="-",
        operations=[Add("x", blob.sha256)],
        is_checked=False,
    )
    tag: dict[str, Any] = {"mlmodel": net, "kind": RefKind.TAG, "name": "v1"}
    ref_create(actor=bob, revision=made, **tag)
    ref_delete(actor=bob, **tag)
    mlmodel_update(actor=alice, mlmodel=net, visibility="private")
    mlmodel_delete(actor=alice, mlmodel=net)
    member_remove(actor=alice, namespace=lab, user=bob)
    entries = AuditEntry.objects.exclude(action="user.create").exclude(actor=None).order_by("id")
    assert [(e.actor, e.action, e.subject, e.namespace) for e in entries] == [
        (alice, "organisation.create", "lab", "lab"),
        (alice, "member.set", "lab/bob", "lab"),
        (bob, "mlmodel.create", "lab/net", "lab"),
        (bob, "blob.store", blob.sha256, ""),
        (bob, "revision.commit", f"lab/net@{made.oid}", "lab"),
        (bob, "ref.create", "lab/net#tag/v1", "lab"),
        (bob, "ref.delete", "lab/net#tag/v1", "lab"),
        (alice, "mlmodel.update", "lab/net", "lab"),
        (alice, "mlmodel.delete", "lab/net", "lab"),
        (alice, "member.remove", "lab/bob", "lab"),
    ]


def test_the_trail_names_the_token_and_never_its_secret(alice: User) -> None:
    token, secret = token_issue(actor=alice, name="notebook", scope=Scope.WRITE)
    mlmodel_create(actor=user_of_token(secret), namespace="alice", name="net")
    entry = AuditEntry.objects.get(action="mlmodel.create")
    assert entry.detail["token"] == str(token.uuid)
    token_revoke(actor=alice, token_uuid=token.uuid)
    assert AuditEntry.objects.filter(subject=str(token.uuid)).count() == 2
    assert secret not in str(list(AuditEntry.objects.values()))
    assert secret[4:] not in str(list(AuditEntry.objects.values()))


def test_what_was_refused_is_not_in_the_trail(alice: User, bob: User) -> None:
    net = mlmodel_create(actor=alice, namespace="alice", name="net")
    before = AuditEntry.objects.count()
    for act in (
        lambda: mlmodel_delete(actor=bob, mlmodel=net),
        lambda: mlmodel_create(actor=alice, namespace="alice", name="net"),
        lambda: ref_create(
            actor=alice, mlmodel=net, kind=RefKind.BRANCH, name="main", revision=revision_get(net)
        ),
        lambda: make_token(bob, namespace=net.namespace),
    ):
        with pytest.raises(RegistryError):
            act()
    # The bytes of a new model's first file are stored before its name turns out to be taken.
    assert AuditEntry.objects.exclude(action="blob.store").count() == before - 1
