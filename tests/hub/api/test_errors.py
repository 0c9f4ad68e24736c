"""Every refusal is a problem document, and the statuses are those of the classes."""

import logging

import pytest
from django.core.exceptions import RequestDataTooBig
from django.http import Http404
from django.test import Client
from rest_framework import exceptions
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from hub.api import errors
from hub.refusals import STATUSES
from registry.errors import CODES, Invalid, RegistryError, Unavailable
from tests.hub.api.client import Api


def handled(error: Exception, **headers: str) -> tuple[int, dict[str, object], dict[str, str]]:
    request = APIView().initialize_request(APIRequestFactory().get("/api/v1/x", headers=headers))
    response = errors.handle(error, {"request": request, "view": APIView()})
    assert response.content_type == "application/problem+json"
    return response.status_code, dict(response.data), dict(response.headers)


@pytest.mark.parametrize(
    ("kind", "status"),
    STATUSES.items(),
    ids=lambda value: getattr(value, "__name__", value),
)
def test_every_class_has_its_status(kind: type[RegistryError], status: int) -> None:
    found, document, _ = handled(kind("internal_error", "What.", "Do.", fields={"a": "b"}))
    assert found == document["status"] == status
    assert document["detail"] == "What."
    assert document["hint"] == "Do."
    assert document["fields"] == {"a": "b"}


def test_no_class_of_refusals_lacks_a_status() -> None:
    assert set(RegistryError.__subclasses__()) == set(STATUSES)


@pytest.mark.parametrize("code", CODES)
def test_every_code_makes_a_document(code: str) -> None:
    _, document, _ = handled(Invalid(code, "What."))
    assert document["code"] == code
    assert document["title"] == CODES[code]
    assert str(document["type"]).endswith(f"/docs/errors#{code}")


def test_the_type_of_every_problem_is_an_address_that_explains_it(client: Client) -> None:
    page = client.get("/docs/errors")
    assert page.status_code == 200
    for code, title in CODES.items():
        assert f'id="{code}"'.encode() in page.content
        assert title.encode() in page.content


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (exceptions.ParseError(), 400, "invalid_request"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (exceptions.NotAcceptable(), 406, "not_acceptable"),
        (exceptions.UnsupportedMediaType("a/b"), 415, "unsupported_media_type"),
        (exceptions.NotAuthenticated(), 401, "not_authenticated"),
        (exceptions.PermissionDenied(), 403, "permission_denied"),
        (exceptions.NotFound(), 404, "page_not_found"),
        (exceptions.Throttled(3), 429, "rate_limited"),
        (Http404(), 404, "page_not_found"),
        (RequestDataTooBig(), 413, "body_too_large"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_the_frameworks_refusals_have_codes_too(error: Exception, status: int, code: str) -> None:
    found, document, _ = handled(error)
    assert (found, document["code"]) == (status, code)
    assert document["detail"]


def test_waiting_is_told_in_seconds() -> None:
    assert handled(exceptions.Throttled(3))[2]["Retry-After"] == "3"
    assert "Retry-After" in handled(Unavailable("storage_full", "Full."))[2]


def test_nested_faults_are_named_by_their_path() -> None:
    error = exceptions.ValidationError({"operations": [{}, {"path": ["Is missing."]}], "a": ["b"]})
    assert handled(error)[1]["fields"] == {"operations.1.path": "Is missing.", "a": "b"}


def test_a_defect_tells_an_id_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="hub.api.errors"):
        status, document, _ = handled(ZeroDivisionError("secret detail"))
    assert (status, document["code"]) == (500, "internal_error")
    assert "secret" not in str(document)
    (line,) = caplog.records
    assert line.exc_info
    assert str(document["hint"]).split("error id ")[1].split()[0] in line.getMessage()


def test_a_defect_is_told_by_the_id_its_request_came_with() -> None:
    document = handled(ZeroDivisionError(), **{"X-Request-Id": "0123456789abcdef"})[1]
    assert "0123456789abcdef" in str(document["hint"])
    document = handled(ZeroDivisionError(), **{"X-Request-Id": "forged\nline of the log"})[1]
    assert "forged" not in str(document["hint"])


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/jobs/not-a-uuid", "/api/v9", "/api/"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_address_is_a_problem_too(anonymous: Api, method: str, path: str) -> None:
    answer = anonymous.send(method, path)
    assert (answer.status, answer.code) == (404, "page_not_found")


def test_a_wrong_method_names_the_right_ones(anonymous: Api) -> None:
    answer = anonymous.send("GET", "models/a/b/commits")
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == "POST"


def test_only_json_is_read(as_alice: Api) -> None:
    headers = {"Content-Type": "text/xml"}
    answer = as_alice.send("POST", "models", raw=b"<x/>", **headers)
    assert (answer.status, answer.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"name": "\\u0000"}',
        b'{"name": "\\ud800"}',
        b'{"name": 1e999}',
        b'{"name": NaN}',
        b"9" * 5000,
        b"[]",
        b"null",
        b'"text"',
    ],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_no_usable_json_is_refused(as_alice: Api, body: bytes) -> None:
    answer = as_alice.send("POST", "models", raw=body, **{"Content-Type": "application/json"})
    assert (answer.status, answer.code) == (400, "invalid_request")


def test_an_address_with_nul_names_nothing(anonymous: Api) -> None:
    for path in ("models/a%00/b", "models?q=%00", "models?%00=q"):
        answer = anonymous.get(path)
        assert (answer.status, answer.code) == (400, "invalid_request")


def test_a_large_document_is_refused_before_it_is_read(as_alice: Api) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": str(5 * 2**20)}
    answer = as_alice.send("POST", "models", raw=b"{}", **headers)
    assert (answer.status, answer.code) == (413, "body_too_large")


def test_any_accept_header_gets_json(anonymous: Api) -> None:
    assert anonymous.get("targets", Accept="text/html").ok() == {"items": [], "next": None}
