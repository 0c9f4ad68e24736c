"""Request ids, cross-origin reading and answers to HEAD, at addresses of all parts of the hub."""

from pathlib import Path
from typing import Any

import pytest
from django.http import FileResponse, HttpRequest, HttpResponse
from django.test import Client

from hub.middleware import bodiless_head
from registry.tables import MLModel

pytestmark = pytest.mark.django_db

ADDRESSES = [
    "/",
    "/models",
    "/no/such/page/at/all",
    "/api/v1",
    "/api/v1/nothing",
    "/api/models",
    "/api/models/gpt2",
    "/lab/galaxy-cnn/resolve/main/README.md",
    "/lab/galaxy-cnn.git/info/refs?service=git-upload-pack",
    "/lab/galaxy-cnn/git-receive-pack",
    "/oai?verb=Identify",
    "/healthz",
]
ORIGIN = {"Origin": "https://elsewhere.example"}


def get(address: str, **more: Any) -> Any:
    """The answer, read to its end, so that its file is closed."""
    answer = Client(raise_request_exception=False).get(address, **more)
    b"".join(answer)
    return answer


@pytest.mark.parametrize("address", ADDRESSES)
def test_each_answer_has_the_senders_request_id_or_a_new_one(galaxy: MLModel, address: str) -> None:
    def request_id(**headers: str) -> str:
        answer = get(address, headers={name.replace("_", "-"): headers[name] for name in headers})
        return answer.headers["X-Request-Id"]

    assert request_id(X_Request_Id="mine-1") == "mine-1"
    trace = "Root=1-67891233-abcdef012345678912345678"
    assert request_id(X_Amzn_Trace_Id=trace) == trace
    assert len({request_id() for _ in range(2)}) == 2
    for odd in ["", "a" * 129, "a b", "\xe9", "a\tb"]:
        assert len(request_id(X_Request_Id=odd)) == 36


@pytest.mark.parametrize("address", ADDRESSES)
def test_answers_to_head_have_the_headers_of_get_and_no_body(galaxy: MLModel, address: str) -> None:
    full, head = get(address), Client(raise_request_exception=False).head(address)
    assert head.status_code in {full.status_code, 405}
    assert b"".join(head) == b""
    if head.status_code == full.status_code and not full.streaming:
        assert head.headers["Content-Length"] == str(len(full.content))


def test_bodies_of_answers_to_head_are_removed_and_files_closed() -> None:
    request = HttpRequest()
    request.method = "HEAD"
    plain = bodiless_head(lambda _: HttpResponse("refused", status=404))(request)
    assert (b"".join(plain), plain.headers["Content-Length"]) == (b"", "7")

    stream = Path(__file__).open("rb")  # noqa: SIM115 (the response closes it)
    streamed = bodiless_head(lambda _: FileResponse(stream))(request)
    assert b"".join(streamed) == b""
    assert int(streamed.headers["Content-Length"]) > 1000
    streamed.close()
    assert stream.closed


@pytest.mark.parametrize(
    "address",
    [
        "/api/models",
        "/api/models/lab/galaxy-cnn",
        "/api/models/no/such",
        "/api/v1/models",
        "/api/v1/nothing",
        "/lab/galaxy-cnn/resolve/main/README.md",
        "/lab/galaxy-cnn/resolve/main/missing",
        "/datasets/no/such/resolve/main/x",
    ],
)
def test_scripts_of_all_sites_read_the_apis(galaxy: MLModel, address: str) -> None:
    answer = get(address, headers=ORIGIN)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers
    exposed = answer.headers["Access-Control-Expose-Headers"]
    if exposed != "*":
        assert {"ETag", "Link", "X-Error-Code", "X-Repo-Commit"} <= set(exposed.split(", "))
        assert "Origin" in answer.headers["Vary"]


def test_a_browsers_question_before_a_request_is_answered(galaxy: MLModel) -> None:
    request = {
        **ORIGIN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    for address in ["/api/models/lab/galaxy-cnn/paths-info/main", "/api/v1/models"]:
        answer = Client().options(address, headers=request)
        assert (answer.status_code, answer.content) == (204, b"")
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.headers["Access-Control-Allow-Headers"] == "authorization,content-type"
        assert "POST" in answer.headers["Access-Control-Allow-Methods"]
        assert "Access-Control-Allow-Credentials" not in answer.headers
    odd = {**request, "Access-Control-Request-Headers": "x;\xe9"}
    answer = Client().options("/api/models", headers=odd)
    assert "Access-Control-Allow-Headers" not in answer.headers


def test_no_other_site_reads_what_a_visitors_session_may() -> None:
    web = Client()
    web.cookies["sessionid"] = "any"
    assert "Access-Control-Allow-Origin" not in web.get("/api/models", headers=ORIGIN).headers
    # What a browser stores for the pages' own scripts is no answer for those of other sites.
    own = Client().get("/api/models")
    assert "Access-Control-Allow-Origin" not in own.headers
    assert "Origin" in own.headers["Vary"]
    for page in ["/", "/login", "/models", "/lab/galaxy-cnn"]:
        assert "Access-Control-Allow-Methods" not in Client().options(page, headers=ORIGIN).headers
