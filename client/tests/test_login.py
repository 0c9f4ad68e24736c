"""Signing in: a hidden token, or a code that a person allows in a browser."""

import stat
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from hpcfair import cli, default, grant
from hpcfair.client import Client
from hpcfair.commands import account
from hpcfair.config import Config, config_file
from hpcfair.errors import Forbidden, Invalid, Unauthenticated
from hpcfair.transport import Transport

URL = "https://hub.test"
BEGUN = {
    "device_code": "secret",
    "user_code": "BCDF-GHJK",
    "verification_uri": f"{URL}/device",
    "verification_uri_complete": f"{URL}/device?code=BCDF-GHJK",
    "expires_in": 900,
    "interval": 5,
}


@pytest.fixture
def polls(hub: Any) -> Callable[..., None]:
    """Lets the hub answer polls one after another: an error, or a token."""

    def have(*answers: str) -> None:
        left = list(answers)

        def poll(_: httpx.Request) -> Any:
            answer = left.pop(0)
            if answer.startswith("hpf_"):
                return {"access_token": answer, "token_type": "bearer", "scope": "write"}
            problem = {"error": answer, "error_description": "No."}
            return httpx.Response(400, json=problem)

        hub.on("POST", "/oauth/device", BEGUN)
        hub.on("POST", "/oauth/token", poll)
        hub.on("GET", "/api/v1/whoami", {"name": "alice"})

    return have


def test_a_code_that_is_allowed_gives_a_token(
    hub: Any, http: Transport, polls: Callable[..., None]
) -> None:
    polls("authorization_pending", "slow_down", "authorization_pending", "hpf_new")
    pauses: list[float] = []

    begun = grant.begin(http)
    token = grant.token_of(http, begun, sleep=pauses.append)

    assert token == "hpf_new"
    assert pauses == [5, 5, 10, 10]
    assert str(begun).splitlines() == [
        f"Open {URL}/device?code=BCDF-GHJK",
        "compare the code BCDF-GHJK and allow it.",
    ]
    assert "secret" not in repr(begun)
    form = hub.calls("POST", "/oauth/token")[0].content
    assert b"device_code=secret" in form
    assert b"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code" in form


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("access_denied", Forbidden),
        ("expired_token", Unauthenticated),
        ("invalid_client", Invalid),
    ],
)
def test_a_code_that_is_not_allowed_gives_none(
    http: Transport, polls: Callable[..., None], answer: str, kind: type[Exception]
) -> None:
    polls(answer)

    with pytest.raises(kind):
        grant.token_of(http, grant.begin(http), sleep=lambda _: None)


def test_nobody_is_waited_for_for_ever(http: Transport, polls: Callable[..., None]) -> None:
    polls(*["authorization_pending"] * 1000)
    pauses: list[float] = []

    with pytest.raises(Unauthenticated, match="not allowed in time"):
        grant.token_of(http, grant.begin(http), sleep=pauses.append)
    assert sum(pauses) <= BEGUN["expires_in"] + 5  # type: ignore[operator]


def test_a_program_signs_in_without_a_token(
    hub: Any,
    polls: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def client(url: str | None = None, token: str | None = None, **more: Any) -> Client:
        return Client(url, token, transport=hub, **more)

    monkeypatch.setattr(default, "Client", client)
    polls("authorization_pending", "hpf_new")
    hub.on("POST", "/oauth/device", {**BEGUN, "interval": 0.001})

    assert default.login(url=URL).name == "alice"

    assert "BCDF-GHJK" in capsys.readouterr().err
    assert Config.read().token == "hpf_new"
    assert stat.S_IMODE(config_file().stat().st_mode) == 0o600
    assert "Authorization" not in hub.requests[0].headers


@pytest.mark.parametrize(
    "words", [["login", URL], ["login", "--url", URL], ["--url", URL, "login"]]
)
def test_the_address_may_stand_anywhere(
    hub: Any, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    hub.on("GET", "/api/v1/whoami", {"name": "alice"})
    monkeypatch.setattr(account, "Client", lambda url, token: Client(url, token, transport=hub))

    result = CliRunner().invoke(cli.app, words, input="hpf_new\n")

    assert result.exit_code == 0, result.output
    assert Config.read().url == URL


def test_no_option_takes_a_token() -> None:
    result = CliRunner().invoke(cli.app, ["login", URL, "--token", "hpf_new"])

    assert result.exit_code == 2
    assert not config_file().exists()
