"""Messages reach a real server, once if all goes well and at least once otherwise."""

import hashlib
import hmac
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from huggingface_hub import WebhookPayload

from registry.errors import Invalid, NotFound
from registry.selectors.webhook.webhook import deliveries_of
from registry.services.discussion.discussion import discussion_open
from registry.services.people.account import member_remove, member_set
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_update
from registry.services.webhook.delivery import (
    CLAIM_S,
    MAX_ATTEMPTS,
    delivery_claim,
    delivery_end,
    delivery_sweep,
    wait_s,
)
from registry.services.webhook.webhook import delivery_replay, webhook_create, webhook_enable
from registry.states import DeliveryState, Role
from registry.tables import MLModel, Namespace, User, Webhook, WebhookDelivery
from tests.receiver import Receiver, receiving
from workers import tasks
from workers.jobs import webhook as job
from workers.jobs.post import post as send_post

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def private(settings: Any) -> None:
    """Receivers live on this machine."""
    settings.WEBHOOK_PRIVATE = True


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def listen(user: User, url: str, **options: Any) -> Webhook:
    watched = [{"type": "org", "name": "lab"}]
    return webhook_create(actor=user, url=url, watched=watched, **options)


def say(galaxy: MLModel, actor: User, *titles: str) -> None:
    for title in titles:
        discussion_open(actor=actor, mlmodel=galaxy, title=title)


def newest(webhook: Webhook) -> WebhookDelivery:
    row = deliveries_of(webhook).first()
    assert row is not None
    return row


def drain_apart() -> int:
    """What a worker does, in a thread of its own."""
    try:
        return job.drain()
    finally:
        connection.close()


def make_due() -> None:
    WebhookDelivery.objects.update(not_before=timezone.now())


def test_a_message_arrives_signed_and_is_noted(
    receiver: Receiver, galaxy: MLModel, alice: User
) -> None:
    webhook = listen(alice, receiver.url, secret="s3cret")
    say(galaxy, alice, "Hello")
    tasks.deliver()

    ((path, headers, body),) = receiver.requests
    digest = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    row = newest(webhook)
    assert path == "/hook"
    assert headers["X-Webhook-Secret"] == "s3cret"
    assert headers["X-Hub-Signature-256"] == f"sha256={digest}"
    assert headers["X-Webhook-Delivery"] == str(row.uuid)
    assert headers["Content-Type"] == "application/json"
    assert WebhookPayload.model_validate_json(body).discussion.title == "Hello"  # type: ignore[union-attr]
    assert (row.state, row.status, row.attempts) == (DeliveryState.DELIVERED, 200, 1)
    assert row.ended_at is not None
    assert job.drain() == 0


def test_without_a_secret_nothing_is_signed(
    receiver: Receiver, galaxy: MLModel, alice: User
) -> None:
    listen(alice, receiver.url)
    say(galaxy, alice, "Hello")
    job.drain()
    assert not {"X-Webhook-Secret", "X-Hub-Signature-256"} & receiver.requests[0][1].keys()


def test_what_was_not_taken_is_sent_again_later_and_given_up_in_the_end(
    receiver: Receiver, galaxy: MLModel, alice: User
) -> None:
    receiver.answers = [500, 302, 404] + [503] * MAX_ATTEMPTS
    webhook = listen(alice, receiver.url)
    say(galaxy, alice, "Hello")
    for attempt in range(1, MAX_ATTEMPTS + 1):
        began = timezone.now()
        assert job.drain() == 1
        row = newest(webhook)
        assert row.attempts == attempt
        if attempt < MAX_ATTEMPTS:
            assert row.state == DeliveryState.WAITING
            assert row.not_before - began >= timedelta(seconds=5)
            assert row.not_before - timezone.now() <= timedelta(hours=9)
            # A slow machine may be past the shortest waits by now.
            WebhookDelivery.objects.update(not_before=timezone.now() + timedelta(hours=1))
            assert job.drain() == 0
            make_due()
    assert (row.state, row.status) == (DeliveryState.FAILED, 503)
    assert len({headers["X-Webhook-Delivery"] for _, headers, _ in receiver.requests}) == 1


def test_waits_grow_and_differ_and_stay_within_hours() -> None:
    waits = [[wait_s(attempt) for _ in range(50)] for attempt in range(1, 12)]
    for number, some in enumerate(waits):
        middle = min(10 * 4**number, 6 * 3600)
        assert middle / 2 <= min(some) < max(some) <= middle * 1.5
        assert len(set(some)) > 40


def test_nobody_there_is_noted_in_words(galaxy: MLModel, alice: User) -> None:
    webhook = listen(alice, "http://nobody.invalid/")
    say(galaxy, alice, "Hello")
    job.drain()
    row = newest(webhook)
    assert (row.status, row.state) == (None, DeliveryState.WAITING)
    assert "no host" in row.error


def test_a_fault_of_ours_keeps_nobody_else_waiting(
    receiver: Receiver, galaxy: MLModel, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = listen(alice, "http://example.org/")
    listen(bob, receiver.url)

    def post(url: str, **options: Any) -> int:
        if url == receiver.url:
            return send_post(url, **options)
        raise ZeroDivisionError

    monkeypatch.setattr("workers.jobs.webhook.post", post)
    say(galaxy, alice, "Hello")
    assert job.drain() == 2
    assert len(receiver.requests) == 1
    assert newest(broken).error == "The hub failed; its log knows."


def test_the_hubs_network_is_not_called_unless_allowed(
    receiver: Receiver, galaxy: MLModel, alice: User, settings: Any
) -> None:
    webhook = listen(alice, receiver.url)
    settings.WEBHOOK_PRIVATE = False
    say(galaxy, alice, "Hello")
    job.drain()
    assert receiver.requests == []
    assert "private network" in newest(webhook).error


def test_a_slow_webhook_holds_up_itself_alone(
    receiver: Receiver,
    galaxy: MLModel,
    alice: User,
    bob: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Longer than five deliveries take on a busy machine.
    monkeypatch.setattr(job, "TIMEOUT_S", 120.0)
    with receiving() as slow:
        slow.slow.clear()
        listen(alice, slow.url)
        listen(bob, receiver.url)
        say(galaxy, alice, *"abcde")
        done = threading.Thread(target=drain_apart)
        done.start()
        deadline = time.monotonic() + 60
        while len(receiver.requests) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (len(receiver.requests), len(slow.requests)) == (5, 1)
        slow.slow.set()
        done.join()
        assert len(slow.requests) == 5


def test_of_many_workers_one_delivers(receiver: Receiver, galaxy: MLModel, alice: User) -> None:
    webhook = listen(alice, receiver.url)
    titles = [f"Number {number}" for number in range(20)]
    say(galaxy, alice, *titles)

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: drain_apart(), range(4))) == 20
    told = Counter(payload["discussion"]["title"] for payload in receiver.payloads)
    assert told == Counter(titles)
    assert set(deliveries_of(webhook).values_list("state", "attempts")) == {("delivered", 1)}


def test_a_message_whose_worker_died_is_sent_by_another(
    receiver: Receiver, galaxy: MLModel, alice: User
) -> None:
    webhook = listen(alice, receiver.url)
    say(galaxy, alice, "Hello")
    lost = delivery_claim()
    assert lost is not None
    assert job.drain() == 0
    wait = (newest(webhook).not_before - timezone.now()).total_seconds()
    assert job.TIMEOUT_S < wait <= CLAIM_S
    make_due()
    assert job.drain() == 1
    assert not delivery_end(ticket=lost, status=500)
    assert newest(webhook).state == DeliveryState.DELIVERED


def test_a_message_that_kills_every_worker_is_given_up(
    receiver: Receiver, galaxy: MLModel, alice: User
) -> None:
    webhook = listen(alice, receiver.url)
    say(galaxy, alice, "Hello")
    for _ in range(MAX_ATTEMPTS):
        assert delivery_claim() is not None
        make_due()
    assert delivery_claim() is None
    assert newest(webhook).state == DeliveryState.FAILED


def test_who_lost_sight_of_it_meanwhile_is_told_nothing(
    receiver: Receiver, galaxy: MLModel, lab: Namespace, alice: User, bob: User, charlie: User
) -> None:
    member_set(actor=charlie, namespace=lab, user=bob, role=Role.READ)
    outside, inside = listen(alice, receiver.url), listen(bob, receiver.url)
    say(galaxy, charlie, "While public")
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility="private")
    say(galaxy, charlie, "While private")
    job.drain()
    titles = [payload.get("discussion", {}).get("title") for payload in receiver.payloads]
    assert sorted(map(str, titles)) == ["None", "While private", "While public"]
    row = newest(outside)
    assert (row.state, row.payload) == (DeliveryState.FAILED, {})
    with pytest.raises(NotFound):
        delivery_replay(actor=alice, webhook=outside, delivery_uuid=row.uuid)

    mlmodel_delete(actor=charlie, mlmodel=galaxy)
    member_remove(actor=charlie, namespace=lab, user=bob)
    assert job.drain() == 0
    assert newest(inside).payload == {}


def test_a_message_that_ended_can_be_sent_anew(
    receiver: Receiver, galaxy: MLModel, alice: User
) -> None:
    webhook = listen(alice, receiver.url)
    say(galaxy, alice, "Hello")
    waiting = newest(webhook)
    with pytest.raises(Invalid):
        delivery_replay(actor=alice, webhook=webhook, delivery_uuid=waiting.uuid)
    job.drain()
    again = delivery_replay(actor=alice, webhook=webhook, delivery_uuid=waiting.uuid)
    assert again.uuid != waiting.uuid
    job.drain()
    first, second = receiver.payloads
    assert first == second
    webhook_enable(actor=alice, webhook=webhook, enabled=False)
    with pytest.raises(Invalid):
        delivery_replay(actor=alice, webhook=webhook, delivery_uuid=waiting.uuid)


def test_what_ended_long_ago_is_forgotten(receiver: Receiver, galaxy: MLModel, alice: User) -> None:
    webhook = listen(alice, receiver.url)
    say(galaxy, alice, "Old", "New")
    job.drain()
    old = deliveries_of(webhook).last()
    WebhookDelivery.objects.filter(pk=old.pk).update(  # type: ignore[union-attr]
        ended_at=timezone.now() - timedelta(days=31)
    )
    assert delivery_sweep() == 1
    assert [row.payload["discussion"]["title"] for row in deliveries_of(webhook)] == ["New"]
