"""Refusals, in the form that each client reads, and what is never refused."""

import threading
from typing import Any

import pytest
from django.test import Client
from huggingface_hub.utils import parse_ratelimit_headers

from hub.throttling import streams
from registry.tables import MLModel, User
from tests.factories import make_token

pytestmark = pytest.mark.django_db


def bearer(user: User) -> dict[str, str]:
    return {"Authorization": f"Bearer {make_token(user)}"}


@pytest.fixture
def two(settings: Any) -> None:
    """Two of everything, without an account."""
    for name in ("SEARCHES", "ARCHIVES", "WRITES", "SIGNUPS", "DEVICES", "SIGNINS"):
        setattr(settings, f"LIMIT_{name}", 2)


@pytest.mark.usefixtures("two")
def test_the_fields_say_what_is_left_and_when_there_is_more() -> None:
    answers = [Client().get("/api/v1/models") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0].headers["RateLimit-Policy"] == '"search";q=2;w=300'
    assert answers[0].headers["RateLimit"].startswith('"search";r=1;t=1')
    assert 140 <= int(answers[2].headers["Retry-After"]) <= 150
    info = parse_ratelimit_headers(answers[2].headers)
    assert info is not None
    assert (info.resource_type, info.remaining, info.limit) == ("search", 0, 2)
    assert info.reset_in_seconds == int(answers[2].headers["Retry-After"])
    problem = answers[2].json()
    assert answers[2].headers["Content-Type"] == "application/problem+json"
    assert (problem["code"], problem["status"]) == ("rate_limited", 429)
    assert problem["violated-policies"] == ["search"]
    assert "2 searches, lists and comparisons in 5 minutes" in problem["detail"]
    assert "Try again in 1" in problem["hint"]
    assert "send a token" in problem["hint"]
    assert problem["detail"] in answers[2].headers["X-Error-Message"]


@pytest.mark.usefixtures("two")
def test_people_get_a_page_and_git_gets_text(galaxy: MLModel) -> None:
    for _ in range(2):
        Client().get("/models")
        Client().post("/lab/galaxy-cnn/git-upload-pack")
    page = Client().get("/models", headers={"Accept": "text/html"})
    assert page.status_code == 429
    assert "Too many requests" in page.content.decode()
    assert page.headers["Retry-After"]
    text = Client().post("/lab/galaxy-cnn/git-upload-pack")
    assert (text.status_code, text.headers["Content-Type"]) == (429, "text/plain; charset=utf-8")
    assert text.content.decode().startswith("2 archives and git fetches in 5 minutes")


@pytest.mark.usefixtures("two")
def test_an_account_has_a_quota_of_its_own(alice: User, bob: User) -> None:
    for _ in range(3):
        Client().get("/models")
    assert Client().get("/models").status_code == 429
    assert Client().get("/api/v1/models", headers=bearer(alice)).status_code == 200
    browser = Client()
    browser.force_login(bob)
    assert browser.get("/models").status_code == 200
    assert "q=12000" in browser.get("/models").headers["RateLimit-Policy"]


@pytest.mark.usefixtures("two")
def test_an_account_does_not_help_where_accounts_are_made(alice: User) -> None:
    statuses = [Client().post("/oauth/device", headers=bearer(alice)).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert [Client().post("/signup", {"username": ""}).status_code for _ in range(3)] == [
        400,
        400,
        429,
    ]


@pytest.mark.usefixtures("two")
def test_invented_tokens_do_not_help() -> None:
    statuses = [
        Client()
        .get("/oai?verb=Identify", headers={"Authorization": f"Bearer hpf_{number}"})
        .status_code
        for number in range(4)
    ]
    assert statuses == [200, 200, 429, 429]


@pytest.mark.usefixtures("two")
def test_files_are_read_without_limit(galaxy: MLModel) -> None:
    for _ in range(30):
        answer = Client().get("/lab/galaxy-cnn/resolve/main/README.md")
        assert answer.status_code == 200
        assert "RateLimit" not in answer.headers
        b"".join(answer)


def test_an_operator_may_switch_limits_off(settings: Any) -> None:
    settings.LIMIT_SEARCHES = 1
    assert [Client().get("/models").status_code for _ in range(2)] == [200, 429]
    settings.LIMIT_SEARCHES = 0
    assert "RateLimit" not in Client().get("/models").headers
    settings.LIMIT_SEARCHES = 1
    settings.THROTTLE = False
    assert Client().get("/models").status_code == 200


def test_scripts_of_other_sites_see_the_fields() -> None:
    answer = Client().get("/api/v1/models", headers={"Origin": "https://elsewhere.example"})
    assert "RateLimit" in answer.headers["Access-Control-Expose-Headers"].split(", ")


def test_one_address_cannot_occupy_all_threads_with_archives(
    galaxy: MLModel, alice: User, settings: Any
) -> None:
    settings.ARCHIVES_AT_ONCE = 2
    crate = "/lab/galaxy-cnn/crate"
    first, second = Client().get(crate), Client().get(crate)
    third = Client().get(crate)
    assert third.status_code == 429
    assert third.headers["Retry-After"] == "5"
    assert Client().get(crate, REMOTE_ADDR="203.0.113.9").status_code == 200
    for _ in range(5):
        assert Client().get(crate, headers=bearer(alice)).status_code == 200
    b"".join(first)
    b"".join(second)
    assert Client().get(crate).status_code == 200


def test_each_answer_is_counted_down_once() -> None:
    assert streams.begin("net-1", 1)
    assert not streams.begin("net-1", 1)
    streams.end("net-1")
    assert "net-1" not in streams._open
    results: list[bool] = []
    threads = [
        threading.Thread(target=lambda: results.append(streams.begin("net-2", 5)))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(results) == 5
    for _ in range(5):
        streams.end("net-2")
