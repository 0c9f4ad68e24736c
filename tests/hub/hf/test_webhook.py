"""Webhooks with the unmodified client."""

from collections.abc import Iterator
from typing import Any

import pytest
from huggingface_hub import WebhookWatchedItem
from huggingface_hub.errors import BadRequestError, HfHubHTTPError
from huggingface_hub.utils import get_session

from registry.services.discussion.discussion import discussion_open
from registry.states import Scope
from registry.tables import MLModel, User
from tests.hub.hf.conftest import ApiOf
from tests.receiver import Receiver, receiving
from workers.jobs import webhook as job

pytestmark = pytest.mark.django_db(transaction=True)

URL = "https://hooks.example.org/x"
WATCHED: list[Any] = [WebhookWatchedItem(type="model", name="lab/galaxy-cnn")]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_PRIVATE = True
    with receiving() as found:
        yield found


def status_of(call: Any, *args: Any, **options: Any) -> int:
    with pytest.raises(HfHubHTTPError) as refused:
        call(*args, **options)
    return int(refused.value.response.status_code)


def test_a_webhook_lives_as_the_client_knows_it(
    api_of: ApiOf, galaxy: MLModel, alice: User
) -> None:
    api = api_of(alice)
    made = api.create_webhook(url=URL, watched=WATCHED, secret="my-secret")
    assert (made.url, made.secret, made.disabled) == (URL, "my-secret", False)
    assert made.domains == ["repo", "discussion"]
    assert made.watched == WATCHED
    assert api.get_webhook(made.id) == made
    assert api.list_webhooks() == [made]

    changed = api.update_webhook(made.id, url=f"{URL}/2", domains=["repo"])
    assert (changed.url, changed.domains) == (f"{URL}/2", ["repo"])
    assert (changed.watched, changed.secret) == (WATCHED, "my-secret")
    watched: list[Any] = [{"type": "user", "name": "alice"}, {"type": "org", "name": "lab"}]
    assert [w.name for w in api.update_webhook(made.id, watched=watched).watched] == [
        "alice",
        "lab",
    ]
    assert api.disable_webhook(made.id).disabled
    assert not api.enable_webhook(made.id).disabled
    api.delete_webhook(made.id)
    assert api.list_webhooks() == []
    assert status_of(api.get_webhook, made.id) == 404


def test_webhooks_are_their_owners_alone(
    api_of: ApiOf, galaxy: MLModel, secret: MLModel, alice: User, bob: User
) -> None:
    made = api_of(alice).create_webhook(url=URL, watched=WATCHED)
    assert api_of(bob).list_webhooks() == []
    for call in (
        api_of(bob).get_webhook,
        api_of(bob).update_webhook,
        api_of(bob).disable_webhook,
        api_of(bob).delete_webhook,
    ):
        assert status_of(call, made.id) == 404
    assert status_of(api_of(alice, Scope.READ).list_webhooks) == 403
    assert status_of(api_of().list_webhooks) == 401
    hidden: list[Any] = [{"type": "model", "name": "lab/secret"}]
    assert status_of(api_of(alice).create_webhook, url=URL, watched=hidden) == 404


def test_what_makes_no_sense_is_refused(api_of: ApiOf, galaxy: MLModel, alice: User) -> None:
    api = api_of(alice)
    wrong: list[dict[str, Any]] = [
        {"url": "http://127.0.0.1:8000/"},
        {"url": "http://169.254.169.254/latest/meta-data"},
        {"url": "nonsense"},
        {"watched": []},
        {"watched": [{"type": "space", "name": "lab/galaxy-cnn"}]},
        {"watched": ["lab/galaxy-cnn"]},
        {"watched": {"type": "model"}},
        {"domains": ["weather"]},
        {"domains": "repo"},
        {"secret": "line\nbreak"},
        {"secret": 5},
        {"url": None},
        {"jobSourceId": "some-job"},
    ]
    session, headers = get_session(), api._build_hf_headers()
    fine = {"url": URL, "watched": [{"type": "model", "name": "lab/galaxy-cnn"}]}
    for change in wrong:
        response = session.post(
            f"{api.endpoint}/api/settings/webhooks", json=fine | change, headers=headers
        )
        assert response.status_code == 400, change
    with pytest.raises(BadRequestError):
        api.create_webhook(job_id="some-job", watched=WATCHED)
    assert api.list_webhooks() == []


def test_null_leaves_a_member_as_it_is(api_of: ApiOf, galaxy: MLModel, alice: User) -> None:
    api = api_of(alice)
    made = api.create_webhook(url=URL, watched=WATCHED, secret="word")
    address = f"{api.endpoint}/api/settings/webhooks/{made.id}"
    body = {"watched": [], "url": "https://example.org/b", "domains": None, "secret": None}
    answer = get_session().post(address, json=body, headers=api._build_hf_headers())
    assert answer.status_code == 200
    changed = api.get_webhook(made.id)
    assert (changed.url, changed.secret) == ("https://example.org/b", "word")
    assert changed.domains == made.domains


def test_what_was_sent_can_be_looked_at_and_sent_anew(
    api_of: ApiOf, receiver: Receiver, galaxy: MLModel, alice: User, bob: User
) -> None:
    api = api_of(alice)
    made = api.create_webhook(url=receiver.url, watched=WATCHED)
    discussion_open(actor=bob, mlmodel=galaxy, title="Hello")
    job.drain()
    session, address = get_session(), f"{api.endpoint}/api/settings/webhooks/{made.id}/deliveries"
    headers = api._build_hf_headers()
    (sent,) = session.get(address, headers=headers).json()
    assert (sent["state"], sent["status"], sent["attempts"]) == ("delivered", 200, 1)
    assert sent["payload"] == receiver.payloads[0]

    replay = f"{address}/{sent['id']}/replay"
    assert session.post(replay, headers=headers).status_code == 200
    assert session.post(replay, headers=api_of(bob)._build_hf_headers()).status_code == 404
    job.drain()
    assert receiver.payloads == [sent["payload"]] * 2
    assert len(session.get(address, headers=headers).json()) == 2
