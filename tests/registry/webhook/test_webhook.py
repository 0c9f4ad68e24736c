"""What webhooks hear, and whose."""

from typing import Any

import pytest
from django.db import transaction
from huggingface_hub import WebhookPayload

from registry.errors import Conflict, Forbidden, Invalid, NotFound
from registry.selectors.repository.revision import revision_get
from registry.selectors.webhook.webhook import deliveries_of, webhook_get, webhooks_of
from registry.services.discussion.comment import comment_add, comment_edit, comment_hide
from registry.services.discussion.discussion import (
    discussion_change,
    discussion_open,
    pull_request_open,
)
from registry.services.discussion.merge import pull_request_merge
from registry.services.people.account import member_set
from registry.services.people.token import authenticate
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_move, mlmodel_update
from registry.services.repository.ref import ref_create, ref_delete
from registry.services.webhook.webhook import (
    MAX_WATCHED,
    MAX_WEBHOOKS,
    webhook_create,
    webhook_delete,
    webhook_enable,
    webhook_update,
)
from registry.states import RefKind, Role, Scope
from registry.tables import AuditEntry, MLModel, Namespace, User, Webhook, WebhookDelivery
from tests.factories import commit_files, make_mlmodel, make_token

pytestmark = pytest.mark.django_db

URL = "https://hooks.example.org/x"
GALAXY = {"type": "model", "name": "lab/galaxy-cnn"}


def hook(user: User, *watched: dict[str, str], **options: Any) -> Webhook:
    return webhook_create(actor=user, url=URL, watched=watched or [GALAXY], **options)


def heard(webhook: Webhook) -> list[tuple[str, str]]:
    """Scope and action of all messages, which the client must be able to read."""
    rows = list(deliveries_of(webhook).reverse())
    for row in rows:
        assert WebhookPayload.model_validate(row.payload).webhook.id == webhook.uuid.hex
    events = [row.payload["event"] for row in rows]
    return [(event["scope"], event["action"]) for event in events]


def last(webhook: Webhook) -> dict[str, Any]:
    row = deliveries_of(webhook).first()
    assert row is not None
    payload: dict[str, Any] = row.payload
    return payload


def test_commits_and_refs_are_told_with_their_ids(
    galaxy: MLModel, alice: User, charlie: User
) -> None:
    webhook = hook(alice)
    old = revision_get(galaxy)
    new = commit_files(galaxy, {"a": "1"}, actor=charlie)
    told = last(webhook)
    assert told["updatedRefs"] == [{"ref": "refs/heads/main", "oldSha": old.oid, "newSha": new.oid}]
    assert told["repo"] == {
        "type": "model",
        "name": "lab/galaxy-cnn",
        "id": galaxy.uuid.hex,
        "private": False,
        "url": {
            "web": "http://127.0.0.1:8000/lab/galaxy-cnn",
            "api": "http://127.0.0.1:8000/api/models/lab/galaxy-cnn",
        },
        "owner": {"id": galaxy.namespace.uuid.hex},
        "headSha": new.oid,
    }
    ref_create(actor=charlie, mlmodel=galaxy, kind=RefKind.TAG, name="v1", revision=new)
    assert last(webhook)["updatedRefs"][0] == {
        "ref": "refs/tags/v1", "oldSha": None, "newSha": new.oid,
    }  # fmt: skip
    ref_delete(actor=charlie, mlmodel=galaxy, kind=RefKind.TAG, name="v1")
    assert last(webhook)["updatedRefs"][0]["newSha"] is None
    assert heard(webhook) == [("repo.content", "update")] * 3


def test_what_happens_to_a_repository_is_told(
    lab: Namespace, galaxy: MLModel, alice: User, charlie: User
) -> None:
    webhook = hook(alice, {"type": "org", "name": "lab"}, domains=["repo"])
    owner = hook(charlie, {"type": "user", "name": "charlie"}, GALAXY)
    net = make_mlmodel("lab/net", actor=charlie)
    mlmodel_update(actor=charlie, mlmodel=net, gate="manual")
    assert last(webhook)["updatedConfig"] == {"private": False, "gated": "manual"}
    mlmodel_move(actor=charlie, mlmodel=net, namespace="charlie", name="net2")
    assert last(webhook)["repo"]["name"] == "lab/net"
    assert last(webhook)["movedTo"]["name"] == "charlie/net2"
    mlmodel_delete(actor=charlie, mlmodel=galaxy)

    made, config, moved = ("repo", "create"), ("repo.config", "update"), ("repo", "move")
    assert heard(webhook) == [made, config, moved, ("repo", "delete")]
    assert heard(owner) == [moved, ("repo", "delete")]
    assert deliveries_of(owner)[0].mlmodel_id is None


def test_talk_is_told_and_what_was_hidden_is_not(
    galaxy: MLModel, alice: User, charlie: User
) -> None:
    webhook = hook(alice, domains=["discussion"])
    talk = discussion_open(actor=charlie, mlmodel=galaxy, title="Hello", description="World")
    comment = comment_add(actor=charlie, discussion=talk, text="Secret")
    comment_edit(actor=charlie, discussion=talk, comment_uuid=comment.uuid, text="Se...")
    assert last(webhook)["comment"]["content"] == "Se..."
    comment_hide(actor=charlie, discussion=talk, comment_uuid=comment.uuid)
    told = last(webhook)["comment"]
    assert (told["hidden"], told.get("content")) == (True, None)
    discussion_change(actor=charlie, discussion=talk, state="closed")

    assert last(webhook)["discussion"]["status"] == "closed"
    assert heard(webhook) == [
        ("discussion", "create"),
        ("discussion.comment", "create"),
        ("discussion.comment", "create"),
        ("discussion.comment", "update"),
        ("discussion.comment", "update"),
        ("discussion", "update"),
    ]


def test_a_pull_request_is_told_until_it_is_merged(
    galaxy: MLModel, alice: User, charlie: User
) -> None:
    webhook = hook(alice)
    pull = pull_request_open(actor=alice, mlmodel=galaxy, title="Better")
    commit_files(galaxy, {"a": "1"}, actor=alice, branch="refs/pr/1")
    assert last(webhook)["updatedRefs"][0]["ref"] == "refs/pr/1"
    merged = pull_request_merge(actor=charlie, pull=pull)
    changes = last(webhook)["discussion"]["changes"]
    assert changes == {"base": "refs/heads/main", "mergeCommitId": merged.oid}
    content = ("repo.content", "update")
    assert heard(webhook) == [("discussion", "create"), content, content, ("discussion", "update")]


def test_nothing_is_told_of_what_did_not_happen(galaxy: MLModel, alice: User) -> None:
    webhook = hook(alice)
    with transaction.atomic():
        discussion_open(actor=alice, mlmodel=galaxy, title="Hello")
        transaction.set_rollback(True)
    assert heard(webhook) == []


def test_the_private_is_told_to_members_only(
    secret: MLModel, lab: Namespace, alice: User, bob: User, charlie: User
) -> None:
    member_set(actor=charlie, namespace=lab, user=bob, role=Role.READ)
    hooks = [hook(user, {"type": "org", "name": "lab"}) for user in (alice, bob)]
    commit_files(secret, {"a": "1"}, actor=charlie)
    assert [len(heard(webhook)) for webhook in hooks] == [0, 1]
    with pytest.raises(NotFound):
        hook(alice, {"type": "model", "name": "lab/secret"})


def test_a_repository_that_turns_private_keeps_even_its_name(
    galaxy: MLModel, alice: User, charlie: User
) -> None:
    webhook = hook(alice)
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility="private")
    assert heard(webhook) == []
    assert list(webhook_get(alice, webhook.uuid).watches.all()) == []


def test_a_message_comes_once_however_often_it_is_watched(galaxy: MLModel, alice: User) -> None:
    webhook = hook(alice, GALAXY, GALAXY, {"type": "org", "name": "lab"})
    discussion_open(actor=alice, mlmodel=galaxy, title="Hello")
    assert len(heard(webhook)) == 1


def test_a_webhook_is_changed_switched_and_deleted(galaxy: MLModel, alice: User) -> None:
    webhook = hook(alice, secret="s3cret")
    webhook_update(
        actor=alice, webhook=webhook, url=f"{URL}/2", domains=["repo"], watched=[
            {"type": "user", "name": "ALICE"}
        ],
    )  # fmt: skip
    discussion_open(actor=alice, mlmodel=galaxy, title="Hello")
    make_mlmodel("alice/net", actor=alice)
    assert heard(webhook) == [("repo", "create")]
    webhook_enable(actor=alice, webhook=webhook, enabled=False)
    make_mlmodel("alice/net2", actor=alice)
    assert [(row.state, row.error) for row in deliveries_of(webhook)] == [
        ("failed", "The webhook was disabled.")
    ]
    webhook_enable(actor=alice, webhook=webhook, enabled=True)
    make_mlmodel("alice/net3", actor=alice)
    assert len(heard(webhook)) == 2
    assert "s3cret" not in str(list(AuditEntry.objects.values_list("detail", "subject")))
    webhook_delete(actor=alice, webhook=webhook)
    assert not WebhookDelivery.objects.exists()
    assert not webhooks_of(alice).exists()


def test_webhooks_are_their_owners_alone(galaxy: MLModel, alice: User, bob: User) -> None:
    webhook = hook(alice)
    for attempt in (
        lambda: webhook_get(bob, webhook.uuid),
        lambda: webhook_get(alice, "nonsense"),
        lambda: webhook_update(actor=bob, webhook=webhook, url=URL),
        lambda: webhook_enable(actor=bob, webhook=webhook, enabled=False),
        lambda: webhook_delete(actor=bob, webhook=webhook),
    ):
        with pytest.raises(NotFound) as refused:
            attempt()
        assert refused.value.code == "webhook_not_found"


def test_a_token_needs_the_scope_and_the_whole_account(
    galaxy: MLModel, lab: Namespace, charlie: User
) -> None:
    hook(charlie)
    read = authenticate(secret=make_token(charlie, Scope.READ))
    limited = authenticate(secret=make_token(charlie, Scope.WRITE, namespace=lab))
    for actor in (read, limited):
        with pytest.raises(Forbidden):
            webhooks_of(actor)
        with pytest.raises(Forbidden):
            hook(actor)


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "http://127.0.0.1/"},
        {"url": "ftp://example.org"},
        {"watched": []},
        {"watched": [{"type": "space", "name": "a/b"}]},
        {"watched": [{"type": "model"}]},
        {"watched": [{"type": "model", "name": 5}]},
        {"watched": [GALAXY] * (MAX_WATCHED + 1)},
        {"domains": []},
        {"domains": ["repo", "weather"]},
        {"secret": "x" * 257},
        {"secret": "line\nbreak"},
        {"secret": "schön"},
    ],
)
def test_what_makes_no_sense_is_refused(
    galaxy: MLModel, alice: User, wrong: dict[str, Any]
) -> None:
    with pytest.raises(Invalid):
        webhook_create(**{"actor": alice, "url": URL, "watched": [GALAXY]} | wrong)
    webhook = hook(alice)
    with pytest.raises(Invalid):
        webhook_update(actor=alice, webhook=webhook, **wrong)
    assert (webhooks_of(alice).get().url, heard(webhook)) == (URL, [])


@pytest.mark.parametrize(
    "item", [{"type": "user", "name": "lab"}, {"type": "org", "name": "alice"},
             {"type": "org", "name": "nobody"}, {"type": "model", "name": "lab/none"},
             {"type": "dataset", "name": "lab/galaxy-cnn"}, {"type": "model", "name": "\x00/\x00"}]
)  # fmt: skip
def test_what_is_not_there_cannot_be_watched(
    galaxy: MLModel, alice: User, item: dict[str, str]
) -> None:
    with pytest.raises(NotFound):
        hook(alice, item)


def test_nobody_has_webhooks_without_end(
    galaxy: MLModel, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.services.webhook.webhook.MAX_WEBHOOKS", 2)
    hook(alice)
    hook(alice)
    with pytest.raises(Conflict) as refused:
        hook(alice)
    assert refused.value.code == "webhook_limit"
    assert MAX_WEBHOOKS > 2
