"""The command signs in from a browser: the real client's device flow, and a person."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from huggingface_hub import HfApi
from huggingface_hub.errors import DeviceCodeError
from huggingface_hub.utils import _oauth_device as flow

from hub.hf import oauth
from registry.services.people import devicegrant
from registry.states import Scope
from registry.tables import DeviceGrant, Token, User
from tests.factories import make_token

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "device_code"


@pytest.fixture
def device(hub_url: str, monkeypatch: pytest.MonkeyPatch) -> flow.DeviceCodeInfo:
    """What the client was told after it asked."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub_url)
    return flow.request_device_code()


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Let something happen in the first pause between two questions of the client."""

    def plan(act: Callable[[], object]) -> None:
        waiting = [act]

        def sleep(_: float) -> None:
            DeviceGrant.objects.update(polled_at=None)
            if waiting:
                waiting.pop()()

        monkeypatch.setattr(flow.time, "sleep", sleep)

    return plan


def answer(user: User, code: str, word: str = "allow") -> int:
    browser = Client()
    browser.force_login(user)
    return browser.post("/device", {"code": code, "answer": word}).status_code


def ask(**fields: str) -> tuple[int, str]:
    """Status and error of one question for the token."""
    response = Client().post("/oauth/token", fields)
    return response.status_code, response.json().get("error", "")


def test_a_person_says_yes_and_the_program_is_signed_in(
    device: flow.DeviceCodeInfo,
    meanwhile: Callable[[Callable[[], object]], None],
    hub_url: str,
    alice: User,
) -> None:
    code = device["user_code"]
    assert device["verification_uri_complete"] == f"{hub_url}/device?code={code}"
    # As people type.
    meanwhile(lambda: answer(alice, code.lower().replace("-", " ")))
    token = flow.poll_device_token(device)["access_token"]
    me = HfApi(endpoint=hub_url, token=token).whoami()
    assert (me["name"], me["auth"]["accessToken"]["role"]) == ("alice", "write")
    assert me["auth"]["accessToken"]["displayName"].endswith(f"({code})")
    assert ask(grant_type=oauth._DEVICE_CODE, device_code=device["device_code"]) == (
        400,
        "expired_token",
    )


def test_a_person_says_no(
    device: flow.DeviceCodeInfo, meanwhile: Callable[[Callable[[], object]], None], alice: User
) -> None:
    meanwhile(lambda: answer(alice, device["user_code"], "refuse"))
    with pytest.raises(DeviceCodeError, match="denied"):
        flow.poll_device_token(device)
    assert not Token.objects.exists()


def test_nobody_answers_in_time(
    device: flow.DeviceCodeInfo, meanwhile: Callable[[Callable[[], object]], None], alice: User
) -> None:
    late = timezone.now() - timedelta(seconds=1)
    meanwhile(lambda: DeviceGrant.objects.update(expires_at=late))
    with pytest.raises(DeviceCodeError, match="expired"):
        flow.poll_device_token(device)
    assert answer(alice, device["user_code"]) == 400
    DeviceGrant.objects.update(expires_at=late - 2 * devicegrant.LIFETIME)
    flow.request_device_code()
    assert DeviceGrant.objects.count() == 1


def test_a_code_is_answered_once_and_only_by_whoever_has_an_account(
    device: flow.DeviceCodeInfo, alice: User, bob: User
) -> None:
    code = device["user_code"]
    visitor = Client().post("/device", {"code": code, "answer": "allow"})
    assert (visitor.status_code, DeviceGrant.objects.get().user) == (302, None)
    assert visitor.headers["Location"].startswith("/login?next=")
    assert answer(bob, code) == 302
    for word in ("allow", "refuse"):
        assert answer(alice, code, word) == 400
    assert DeviceGrant.objects.get().user == bob
    bob.is_active = False
    bob.save()
    fields = {"grant_type": oauth._DEVICE_CODE, "device_code": device["device_code"]}
    assert ask(**fields) == (400, "expired_token")
    assert not Token.objects.exists()


def test_the_page_shows_the_code_and_signs_nothing_in_by_itself(
    device: flow.DeviceCodeInfo, alice: User
) -> None:
    browser = Client()
    browser.force_login(alice)
    page = browser.get("/device", {"code": device["user_code"]})
    assert device["user_code"] in page.content.decode()
    assert DeviceGrant.objects.get().user is None
    for code in ("", "BCDF", "BCDF-GHJK", "<b>", "\0", "ß" * 20):
        assert browser.post("/device", {"code": code, "answer": "allow"}).status_code == 400
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    forged = strict.post("/device", {"code": device["user_code"], "answer": "allow"})
    assert forged.status_code == 403


def test_hasty_and_malformed_questions_get_oauths_answers(
    device: flow.DeviceCodeInfo, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two questions in a row are hasty, however slow the machine.
    monkeypatch.setattr(devicegrant, "INTERVAL", timedelta(hours=1))
    grant = {"grant_type": oauth._DEVICE_CODE}
    code = {SECRET: device["device_code"]}
    assert ask(**grant, **code) == (400, "authorization_pending")
    assert ask(**grant, **code) == (400, "slow_down")
    assert ask(**grant, device_code="guess") == (400, "expired_token")
    assert ask(**grant, device_code=device["user_code"]) == (400, "expired_token")
    assert ask(**grant) == (400, "expired_token")
    for kind in ({}, {"grant_type": "refresh_token", "refresh_token": make_token(alice)}):
        assert ask(**kind, **code) == (400, "unsupported_grant_type")


def test_the_token_may_do_no_more_than_write(device: flow.DeviceCodeInfo, alice: User) -> None:
    answer(alice, device["user_code"])
    assert ask(grant_type=oauth._DEVICE_CODE, device_code=device["device_code"]) == (200, "")
    assert [token.scope for token in Token.objects.all()] == [Scope.WRITE]


def test_one_network_cannot_keep_the_others_from_signing_in(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devicegrant, "_MOST", 12)
    monkeypatch.setattr(devicegrant, "_MOST_OF_NETWORK", 5)

    def begin(address: str) -> int:
        return Client().post("/oauth/device", REMOTE_ADDR=address).status_code

    honest, _ = devicegrant.device_grant_begin(network="192.0.2.1")
    statuses = [begin(f"2001:db8:1:{number:x}::1") for number in range(20)]
    assert statuses == [200] * 5 + [429] * 15, "a site with many networks counts as one"
    statuses = [begin(f"2001:db8:{number:x}::1") for number in range(2, 30)]
    assert statuses == [200] * 28
    assert DeviceGrant.objects.count() <= 12
    assert answer(alice, honest.user_code) == 302, "an older code of another network is still valid"


def test_who_is_refused_is_told_when_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devicegrant, "_MOST_OF_NETWORK", 0)
    response = Client().post("/oauth/device")
    assert response.status_code == 429
    assert response.headers["Retry-After"] == "60"
