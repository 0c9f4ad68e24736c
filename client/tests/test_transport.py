"""Requests: named, retried where that is safe, and carrying the token to the hub alone."""

import dataclasses
import logging
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from hpcfair.config import Config
from hpcfair.errors import HubError, HubUnreachable, ModelNotFound, Offline, Unavailable
from hpcfair.retry import Retry
from hpcfair.transport import Transport, pages

WHO = "/api/v1/whoami"
LOST = httpx.ConnectError("refused")


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_passing_refusal_is_retried(hub: Any, http: Transport, status: int) -> None:
    hub.on("GET", WHO, {"name": "alice"})
    hub.faults = [httpx.Response(status), httpx.ConnectError("refused")]

    assert http.get(WHO) == {"name": "alice"}
    assert len(hub.requests) == 3


def test_all_attempts_of_one_wish_carry_one_name(hub: Any, http: Transport) -> None:
    hub.on("GET", WHO, {})
    hub.faults = [httpx.Response(503)]

    http.get(WHO)

    assert len({request.headers["X-Request-Id"] for request in hub.requests}) == 1


def test_a_write_that_may_have_happened_is_not_repeated(hub: Any, http: Transport) -> None:
    hub.faults = [httpx.ReadTimeout("slow")]

    with pytest.raises(HubUnreachable):
        http.post("/api/v1/models", {})
    assert len(hub.requests) == 1


def test_a_write_refused_for_coming_too_fast_is_repeated(hub: Any, http: Transport) -> None:
    hub.on("POST", "/api/v1/models", {"name": "lab/x"})
    hub.faults = [httpx.Response(429)]

    assert http.post("/api/v1/models", {}) == {"name": "lab/x"}


def test_retrying_ends(hub: Any, http: Transport) -> None:
    hub.faults = [LOST] * 10

    with pytest.raises(HubUnreachable, match="does not answer"):
        http.get(WHO)
    assert len(hub.requests) == 4


def test_a_hub_that_stays_unavailable_says_so(
    hub: Any, http: Transport, answer: Callable[..., httpx.Response]
) -> None:
    hub.on("GET", WHO, lambda _: answer(503, "storage_full", "The disk is full.", "Wait."))

    with pytest.raises(Unavailable, match=r"The disk is full. Wait. \[storage_full\]"):
        http.get(WHO)


def test_a_refusal_becomes_the_class_of_its_code(
    hub: Any, http: Transport, answer: Callable[..., httpx.Response]
) -> None:
    hub.on("GET", "/api/v1/models/a/b", answer(404, "model_not_found", "None is called a/b."))

    with pytest.raises(ModelNotFound) as refusal:
        http.get("/api/v1/models/a/b")
    assert refusal.value.status == 404
    assert refusal.value.request_id == hub.requests[0].headers["X-Request-Id"]


def test_a_refusal_that_is_no_problem_document_is_still_an_error(hub: Any, http: Transport) -> None:
    hub.on("GET", WHO, httpx.Response(500, text="<h1>Oops</h1>"))

    with pytest.raises(Unavailable, match="answered 500"):
        http.get(WHO)


def test_a_page_that_is_no_hub_is_named_as_such(hub: Any, http: Transport) -> None:
    hub.on("GET", WHO, b"<html>Welcome to nginx</html>")

    with pytest.raises(HubUnreachable, match="not JSON"):
        http.get(WHO)


def test_the_hub_gets_the_token(hub: Any, http: Transport) -> None:
    hub.on("GET", WHO, {})

    http.get(WHO)

    assert hub.requests[0].headers["Authorization"] == "Bearer hpf_secret"
    assert hub.requests[0].headers["User-Agent"].startswith("hpcfair/")


@pytest.mark.parametrize(
    "url", ["https://files.test/x", "http://hub.test/x", "https://hub.test:8443/x"]
)
def test_nobody_else_gets_the_token(hub: Any, http: Transport, url: str) -> None:
    hub.on("GET", "/x", {})

    http.get(url)

    assert "Authorization" not in hub.requests[0].headers


def test_a_redirect_to_another_host_drops_the_token(hub: Any, http: Transport) -> None:
    hub.on("GET", WHO, httpx.Response(302, headers={"Location": "https://files.test/x"}))
    hub.on("GET", "/x", {"from": "elsewhere"})

    assert http.get(WHO) == {"from": "elsewhere"}
    assert "Authorization" not in hub.requests[1].headers


def test_a_hub_below_a_path_is_asked_below_it(hub: Any, config: Config) -> None:
    below = dataclasses.replace(config, url="https://example.test/hub")
    hub.on("GET", "/hub/api/v1/whoami", {"name": "alice"})

    with Transport(below, transport=hub) as http:
        assert http.get(WHO) == {"name": "alice"}


def test_offline_nothing_is_sent(hub: Any, config: Config) -> None:
    offline = dataclasses.replace(config, offline=True)

    with (
        Transport(offline, transport=hub) as http,
        pytest.raises(Offline, match="HPCFAIR_OFFLINE"),
    ):
        http.get(WHO)
    assert hub.requests == []


def test_an_uploads_body_is_made_anew_for_each_attempt(hub: Any, http: Transport) -> None:
    hub.faults = [httpx.WriteError("broken pipe")]
    path = "/api/v1/blobs/" + "0" * 64

    with http.open("PUT", path, content=lambda: iter([b"ab", b"c"])) as response:
        response.read()

    assert [request.content for request in hub.requests] == [b"abc", b"abc"]


def test_pages_are_followed_to_the_end(hub: Any, http: Transport) -> None:
    def reply(request: httpx.Request) -> Any:
        second = request.url.params.get("cursor") == "c1"
        return {"items": [3], "next": None} if second else {"items": [1, 2], "next": "c1"}

    hub.on("GET", "/list", reply)

    assert list(pages(http, "/list")) == [1, 2, 3]


@pytest.mark.parametrize("asked", ["7", "Wed, 21 Oct 2065 07:28:00 GMT"])
def test_a_wait_is_at_least_what_the_hub_asks_for(asked: str) -> None:
    assert Retry(jitter=lambda: 0.0).wait_s(1, asked) >= 7


@pytest.mark.parametrize("asked", [None, "", "soon", "-3", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_wait_that_makes_no_sense_is_ignored(asked: str | None) -> None:
    assert Retry(jitter=lambda: 0.0).wait_s(1, asked) == 0


def test_waits_grow_and_have_an_end() -> None:
    waits = [Retry(jitter=lambda: 1.0).wait_s(attempt) for attempt in range(1, 12)]

    assert waits == sorted(waits)
    assert waits[-1] == Retry().cap_s


def test_who_is_refused_waits_as_long_as_asked_and_some_more_and_says_so(
    hub: Any, config: Any, caplog: pytest.LogCaptureFixture
) -> None:
    waits: list[float] = []
    replies = [httpx.Response(429, headers={"Retry-After": "40"}, json={"code": "rate_limited"})]
    hub.on("GET", "/busy", lambda _: replies.pop() if replies else {"done": True})

    with (
        caplog.at_level(logging.WARNING, logger="hpcfair"),
        Transport(config, transport=hub, sleep=waits.append) as transport,
    ):
        assert transport.get("/busy") == {"done": True}

    assert 40 <= waits[0] <= 50
    assert re.search(r"/busy answered 429; waiting (4[0-9]|50) s", caplog.text)


def test_nobody_waits_for_an_hour(hub: Any, config: Any) -> None:
    refusal = {"code": "rate_limited", "detail": "Too many.", "hint": "Try again in 3600 s."}
    hub.on(
        "GET",
        "/busy",
        lambda _: httpx.Response(429, headers={"Retry-After": "3600"}, json=refusal),
    )
    waits: list[float] = []

    with (
        Transport(config, transport=hub, sleep=waits.append) as transport,
        pytest.raises(HubError, match="Try again in 3600 s"),
    ):
        transport.get("/busy")

    assert waits == []


def test_clients_that_were_refused_together_return_apart() -> None:
    waits = {round(Retry().wait_s(1, "60"), 3) for _ in range(50)}

    assert len(waits) > 40
    assert min(waits) >= 60
    assert max(waits) <= 75
