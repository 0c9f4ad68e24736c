"""Pages that visitors of the same second share, and answers that nobody shares."""

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.test import Client, RequestFactory

from hub import sharing
from hub.sharing import share_for_a_moment
from registry.tables import MLModel, User

Get = Callable[..., HttpResponseBase]


@pytest.fixture
def get(settings: Any) -> Get:
    """Sends a request to a view whose answers are numbered, through the middleware."""
    settings.SHARED_PAGES_S = 60
    numbers = iter(range(100))

    def view(request: HttpRequest) -> HttpResponse:
        wish = request.GET.dict()
        response = HttpResponse(f"{next(numbers)}", status=int(wish.get("status", 200)))
        response.headers["RateLimit"] = '"search";r=1;t=1'
        if "caching" in wish:
            response.headers["Cache-Control"] = wish["caching"]
        if "cookie" in wish:
            response.set_cookie("a", "b")
        return response

    middleware = share_for_a_moment(view)

    def get(path: str = "/models", method: str = "GET", **headers: str) -> HttpResponseBase:
        return middleware(RequestFactory().generic(method, path, headers=headers))

    return get


def number(response: HttpResponseBase) -> bytes:
    assert isinstance(response, HttpResponse)
    return response.content


def test_visitors_of_a_moment_share_a_page(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = get(), get()
    assert number(first) == number(second)
    assert "RateLimit" not in first.headers
    assert first.headers == second.headers
    assert first is not second
    later = time.monotonic() + 61
    monkeypatch.setattr(sharing, "time", SimpleNamespace(monotonic=lambda: later))
    assert number(get()) != number(first)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "/models?q=a"}, {"path": "/models?q=b"}),
        ({"Accept": "text/html"}, {"Accept": "application/ld+json"}),
        ({"Host": "a.example"}, {"Host": "b.example"}),
        ({"HX-Request": "true"}, {}),
        ({"method": "HEAD"}, {}),
    ],
)
def test_requests_that_differ_share_nothing(
    get: Get, one: dict[str, str], other: dict[str, str]
) -> None:
    assert number(get(**one)) != number(get(**other))


@pytest.mark.parametrize(
    "request_",
    [
        {"Cookie": "sessionid=1"},
        {"Authorization": "Bearer x"},
        {"If-None-Match": '"a"'},
        {"Range": "bytes=0-1"},
        {"method": "POST"},
        {"path": "/api/v1/models"},
        {"path": "/lab/net/resolve/main/a.txt"},
        {"path": "/?status=404"},
        {"path": "/?caching=private,%20no-cache"},
        {"path": "/?caching=no-store"},
        {"path": "/?cookie=1"},
    ],
)
def test_what_is_for_one_is_shared_with_nobody(get: Get, request_: dict[str, str]) -> None:
    first = get(**request_)
    assert number(first) != number(get(**request_))
    assert "RateLimit" in first.headers


def test_one_request_of_many_makes_the_page(settings: Any) -> None:
    settings.SHARED_PAGES_S = 5
    calls = []

    def view(_: HttpRequest) -> HttpResponse:
        calls.append(1)
        time.sleep(0.05)
        return HttpResponse("page")

    middleware = share_for_a_moment(view)
    threads = [
        threading.Thread(target=lambda: middleware(RequestFactory().get("/"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


def test_requests_do_not_wait_for_answers_that_nobody_shares(settings: Any) -> None:
    settings.SHARED_PAGES_S = 5
    together = threading.Barrier(2, timeout=10)
    calls = []

    def view(_: HttpRequest) -> HttpResponse:
        calls.append(1)
        if len(calls) > 1:
            together.wait()
        return HttpResponse("page", headers={"Cache-Control": "no-store"})

    middleware = share_for_a_moment(view)
    middleware(RequestFactory().get("/"))
    threads = [
        threading.Thread(target=lambda: middleware(RequestFactory().get("/"))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not together.broken


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["/", "/models", "/{model}"])
def test_people_who_are_signed_in_get_a_page_of_their_own(
    client: Client, alice: User, galaxy: MLModel, settings: Any, page: str
) -> None:
    settings.SHARED_PAGES_S = 60
    address = page.format(model=galaxy.full_name)
    before = client.get(address).content
    MLModel.objects.filter(pk=galaxy.pk).delete()
    assert client.get(address).content == before
    client.force_login(alice)
    after = client.get(address)
    assert b"Sign out" in after.content
    assert b"Sign out" not in before
