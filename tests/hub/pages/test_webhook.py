"""A person's webhooks in the browser."""

import pytest
from django.test import Client
from django.utils import timezone

from registry.services.webhook.webhook import webhook_create
from registry.states import DeliveryState
from registry.tables import MLModel, User, Webhook
from tests.hub.pages.test_reading import status, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cast")]

PAGE = "/settings/webhooks"
FORM = {
    "url": "https://hooks.example.org/in",
    "watched": "lab/galaxy-cnn\r\nlab\r\n",
    "domains": ["repo"],
    "secret": "quiet",
}


@pytest.fixture
def webhook(galaxy: MLModel, alice: User) -> Webhook:
    """One of alice's."""
    watched = [{"type": "model", "name": "lab/galaxy-cnn"}]
    return webhook_create(actor=alice, url=FORM["url"], watched=watched)  # type: ignore[arg-type]


def test_a_webhook_is_made(client: Client, galaxy: MLModel, alice: User) -> None:
    client.force_login(alice)
    assert client.post(PAGE, FORM).status_code == 302
    made = Webhook.objects.get()
    assert made.domains == ["repo"]
    assert made.watches.count() == 2
    page = text(client, PAGE)
    assert "hooks.example.org" in page
    assert "quiet" not in page


@pytest.mark.parametrize(
    "wrong",
    [{"url": "gopher://x"}, {"url": ""}, {"watched": "lab/none"}, {"watched": "nobody"},
     {"watched": " \n"}, {"domains": ["x"]}, {"domains": []}, {"watched": "datasets/lab/none"}],
)  # fmt: skip
def test_what_cannot_be_watched_is_said(
    client: Client, galaxy: MLModel, alice: User, wrong: dict[str, str]
) -> None:
    client.force_login(alice)
    answer = client.post(PAGE, FORM | wrong)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.content.decode()
    assert not Webhook.objects.exists()


def test_messages_are_shown_and_sent_again(client: Client, webhook: Webhook, alice: User) -> None:
    mlmodel = webhook.watches.select_related("mlmodel__namespace").get().mlmodel
    assert mlmodel is not None
    sent = webhook.deliveries.create(
        payload={"event": {"action": "update", "scope": "repo"}, "repo": {"name": "lab/x"}},
        state=DeliveryState.FAILED,
        status=500,
        is_private=False,
        not_before=timezone.now(),
        mlmodel=mlmodel,
        namespace=mlmodel.namespace,
    )
    client.force_login(alice)
    assert "failed 500" in text(client, PAGE)
    client.post(f"{PAGE}/{webhook.uuid}/{sent.uuid}")
    assert webhook.deliveries.filter(state=DeliveryState.WAITING).count() == 1


def test_a_webhook_is_disabled_enabled_and_deleted(
    client: Client, webhook: Webhook, alice: User
) -> None:
    client.force_login(alice)
    client.post(f"{PAGE}/{webhook.uuid}/switch", {"enabled": "no"})
    assert "disabled" in text(client, PAGE)
    client.post(f"{PAGE}/{webhook.uuid}/switch", {"enabled": "yes"})
    assert "Disable" in text(client, PAGE)
    client.post(f"{PAGE}/{webhook.uuid}/delete")
    assert not Webhook.objects.exists()


@pytest.mark.parametrize("tail", ["/switch", "/delete", "/00000000-0000-0000-0000-000000000000"])
def test_other_peoples_webhooks_are_not_there(
    client: Client, webhook: Webhook, bob: User, tail: str
) -> None:
    assert client.post(f"{PAGE}/{webhook.uuid}{tail}")["Location"].startswith("/login")
    client.force_login(bob)
    assert client.post(f"{PAGE}/{webhook.uuid}{tail}").status_code == 404
    assert "hooks.example.org" not in text(client, PAGE)
    webhook.refresh_from_db()
    assert webhook.is_enabled


@pytest.mark.parametrize("path", [PAGE, "/settings/access"])
def test_strangers_are_asked_to_sign_in_first(client: Client, db: None, path: str) -> None:
    assert status(client, path) == 302


def test_a_webhook_needs_a_csrf_token(webhook: Webhook, alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert client.post(PAGE, FORM).status_code == 403
    assert client.post(f"{PAGE}/{webhook.uuid}/delete").status_code == 403
