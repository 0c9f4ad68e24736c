"""The proxy in front of a live hub: what it sends itself is what the hub would."""

import base64
import contextlib
import hashlib
import io
import re
import socket
import subprocess
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from huggingface_hub import HfApi, close_session

from hub import proxy
from registry.errors import CODES
from registry.selectors.repository.revision import file_get, revision_get
from registry.services.storage.chunking import blobs_chunk
from registry.states import Visibility
from registry.tables import Namespace, User
from tests.factories import make_mlmodel, make_token
from tests.ports import reserved_ports

pytestmark = pytest.mark.django_db(transaction=True)

BYTES = bytes(range(256)) * 100
DIGEST = f"sha-256=:{base64.b64encode(hashlib.sha256(BYTES).digest()).decode()}:"


@pytest.fixture
def port() -> Iterator[int]:
    """The port that nginx listens on."""
    with reserved_ports(1) as (port,):
        yield port


@pytest.fixture
def front(
    live_server: Any, settings: Any, data_dir: Path, tmp_path: Path, port: int
) -> Iterator[str]:
    """The address of nginx, which sends what the hub tells it to."""
    settings.HUB_URL = f"http://127.0.0.1:{port}"
    settings.ACCEL_PREFIX = proxy.ACCEL_PREFIX
    (data_dir / "blobs").mkdir(parents=True, exist_ok=True)
    (tmp_path / "static").mkdir()
    command = proxy.configure(
        proxy.ProxySettings(
            run=tmp_path,
            host="127.0.0.1",
            port=port,
            blobs=data_dir / "blobs",
            static=tmp_path / "static",
            hub_url=settings.HUB_URL,
        )
    )
    conf = (tmp_path / "nginx.conf").read_text()
    # In tests one hub is both of its servers.
    web, replaced = live_server.url.removeprefix("http://"), 0
    for name in ("pages", "transfers"):
        conf, count = re.subn(re.escape(f"unix:{tmp_path}/{name}.sock"), web, conf)
        replaced += count
    assert replaced == 2
    # Seconds are enough here.
    conf, count = re.subn("client_header_timeout 15s", "client_header_timeout 2s", conf)
    assert count == 1
    (tmp_path / "nginx.conf").write_text(conf)
    with subprocess.Popen(command) as process:
        try:
            _wait_for(port, process)
            yield settings.HUB_URL
        finally:
            close_session()
            process.terminate()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, "nginx did not start"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("nginx does not answer")


def test_files_come_with_all_that_the_hub_says_of_them(
    front: str, lab: Namespace, charlie: User, tmp_path: Path
) -> None:
    mlmodel = make_mlmodel("lab/net", actor=charlie, files={"a.bin": BYTES, "b.txt": "text"})
    revision = revision_get(mlmodel)
    name = file_get(revision, "a.bin").blob.sha256

    with httpx.Client(base_url=f"{front}/lab/net/resolve/main/") as web:
        part = {"Range": "bytes=3-5"}
        answers = [
            (web.get("a.bin"), 200, BYTES),
            (web.head("a.bin"), 200, b""),
            (web.get("a.bin", headers=part), 206, BYTES[3:6]),
            (web.get("a.bin", headers={**part, "If-Range": f'"{name}"'}), 206, BYTES[3:6]),
            (web.get("a.bin", headers={**part, "If-Range": '"other"'}), 200, BYTES),
            (web.get("a.bin", headers={"If-None-Match": f'"{name}"'}), 304, b""),
        ]
        behind = web.get("a.bin", headers={"Range": "bytes=99999-"})
    for answer, status, content in answers:
        assert (answer.status_code, answer.content) == (status, content)
        assert answer.headers["ETag"] == answer.headers["X-Linked-ETag"] == f'"{name}"'
        assert answer.headers["X-Repo-Commit"] == revision.oid
        assert answer.headers["X-Linked-Size"] == str(len(BYTES))
        assert answer.headers["Repr-Digest"] == DIGEST
        # Of what is public, scripts of other sites read as well.
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.links["collection"]["url"] == f"{front}/lab/net?revision={revision.oid}"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"].startswith("sandbox")
        assert "Last-Modified" not in answer.headers
        assert len(answer.headers["X-Request-Id"]) > 10
    assert answers[1][0].headers["Content-Length"] == str(len(BYTES))
    assert (behind.status_code, behind.headers["Content-Range"]) == (416, f"bytes */{len(BYTES)}")

    api = HfApi(endpoint=front, token=False)
    folder = Path(api.snapshot_download("lab/net", cache_dir=tmp_path / "cache"))
    assert (folder / "a.bin").read_bytes() == BYTES
    assert api.verify_repo_checksums("lab/net", cache_dir=tmp_path / "cache").mismatches == []


@pytest.mark.parametrize(
    ("path", "visibility"),
    [
        ("/lab/net/resolve/main/a.bin", Visibility.PUBLIC),
        ("/lab/net/resolve/main/a.bin", Visibility.PRIVATE),
        ("/lab/net/raw/main/a.bin", Visibility.PUBLIC),
        ("/api/v1/models/lab/net/files/a.bin", Visibility.PUBLIC),
        ("/api/v1/models/lab/net/files/a.bin", Visibility.PRIVATE),
    ],
)
def test_every_header_of_the_hub_comes_with_a_file(
    front: str,
    live_server: Any,
    lab: Namespace,
    charlie: User,
    path: str,
    visibility: Visibility,
) -> None:
    make_mlmodel("lab/net", actor=charlie, visibility=visibility, files={"a.bin": BYTES})
    # Once the file is cut into chunks, clients are told where to fetch it by Xet.
    blobs_chunk()
    headers = {"Authorization": f"Bearer {make_token(charlie)}", "Host": front.split("/")[2]}

    for method, more in (("GET", {}), ("HEAD", {}), ("GET", {"Range": "bytes=3-5"})):
        of_hub = httpx.request(method, live_server.url + path, headers=headers | more).headers
        of_proxy = httpx.request(method, front + path, headers=headers | more).headers
        assert "X-Accel-Redirect" in of_hub
        assert ("X-Xet-Hash" in of_hub) == ("resolve" in path)
        # Those of the connection, of the length of the bytes, and the name of the request.
        own = {"x-accel-redirect", "connection", "content-length", "date", "server", "x-request-id"}
        expected = {name: value for name, value in of_hub.items() if name not in own}
        assert {name: of_proxy.get(name) for name in expected} == expected


def test_without_a_hub_browsers_get_a_page_and_programs_a_problem(
    tmp_path: Path, port: int
) -> None:
    address = f"http://127.0.0.1:{port}"
    command = proxy.configure(
        proxy.ProxySettings(
            run=tmp_path,
            host="127.0.0.1",
            port=port,
            blobs=tmp_path,
            static=tmp_path,
            hub_url=address,
        )
    )
    with subprocess.Popen(command) as process:
        try:
            _wait_for(port, process)
            page = httpx.get(address, headers={"Accept": "text/html,application/xhtml+xml"})
            problem = httpx.get(f"{address}/api/v1/models")
            upload = httpx.put(f"{address}/api/v1/blobs/{'0' * 64}", content=bytes(2**21))
        finally:
            process.terminate()
    assert (page.status_code, problem.status_code, upload.status_code) == (503, 503, 503)
    assert page.headers["Content-Type"].startswith("text/html")
    assert 'http-equiv="refresh"' in page.text
    assert problem.headers["Content-Type"] == "application/problem+json"
    assert problem.json()["code"] == "hub_unavailable"
    assert page.headers["Retry-After"] == problem.headers["Retry-After"] == "5"


def test_blobs_cannot_be_asked_for_past_the_hub(front: str, lab: Namespace, charlie: User) -> None:
    mlmodel = make_mlmodel("lab/net", actor=charlie, files={"a.bin": BYTES})
    sha256 = file_get(revision_get(mlmodel), "a.bin").blob.sha256

    assert httpx.get(f"{front}/_blobs/{sha256[:2]}/{sha256[2:4]}/{sha256}").status_code == 404


def test_records_with_all_their_links_and_whole_crates_come_through(
    front: str, lab: Namespace, charlie: User
) -> None:
    files = {f"weights/part-{number:05}-of-00060.safetensors": BYTES for number in range(60)}
    make_mlmodel("lab/net", actor=charlie, files=files)

    for accept in ("text/html", "application/ld+json"):
        page = httpx.get(f"{front}/lab/net", headers={"Accept": accept})
        assert page.status_code == 200
        assert page.headers["Content-Type"].startswith(accept)
        assert len(page.headers["Link"]) > 3000
    head = httpx.head(f"{front}/lab/net/crate")
    crate = httpx.get(f"{front}/lab/net/crate")
    assert head.headers["Content-Length"] == str(len(crate.content))
    with zipfile.ZipFile(io.BytesIO(crate.content)) as archive:
        assert archive.testzip() is None
        assert set(files) < set(archive.namelist())


def test_errors_of_nginx_itself_name_the_request_too(front: str) -> None:
    with httpx.Client(base_url=front) as web:
        # An internal location: nginx refuses it without the hub.
        refused = web.get("/_blobs/none", headers={"X-Request-Id": "mine"})
        long = web.get("/api/models", headers={"X-Request-Id": "a" * 129})
        trace = web.get("/api/models", headers={"X-Amzn-Trace-Id": "Root=1-2"})
    assert (refused.status_code, refused.headers.get_list("X-Request-Id")) == (404, ["mine"])
    assert len(long.headers["X-Request-Id"]) == 32
    assert trace.headers.get_list("X-Request-Id") == ["Root=1-2"]


def test_errors_of_the_proxy_are_problem_documents(front: str) -> None:
    with httpx.Client(base_url=front) as web:
        answers = [
            (web.get(f"/{'a' * 9000}"), 414, "address_too_long"),
            (web.get("/", headers={"X-Large": "a" * 9000}), 431, "headers_too_large"),
            (web.post("/api/repos/create", content=b" " * 9_000_000), 413, "body_too_large"),
        ]
    for answer, status, code in answers:
        assert answer.status_code == status
        assert answer.headers["Content-Type"] == "application/problem+json"
        document = answer.json()
        assert (document["status"], document["code"]) == (status, code)
        assert document["title"] == CODES[code]
        assert answer.headers["X-Request-Id"]


def test_static_files_with_a_hash_in_their_name_are_kept_for_good(
    front: str, tmp_path: Path
) -> None:
    text = "body { color: black } " * 100
    for name in ("hub.css", "hub.0123456789ab.css"):
        (tmp_path / "static" / name).write_text(text)

    hashed = httpx.get(f"{front}/static/hub.0123456789ab.css")
    plain = httpx.get(f"{front}/static/hub.css")
    assert hashed.text == plain.text == text
    assert hashed.headers["Content-Encoding"] == "gzip"
    assert hashed.headers["Content-Type"] == "text/css; charset=utf-8"
    assert hashed.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert plain.headers["Cache-Control"] == "public, no-cache"


def test_the_proxy_answers_for_itself_whether_it_is_up(front: str) -> None:
    answer = httpx.get(f"{front}/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_slow_clients_stop_nobody(front: str, lab: Namespace, charlie: User) -> None:
    make_mlmodel("lab/net", actor=charlie, files={"a.bin": BYTES})
    host, port = front.removeprefix("http://").split(":")
    starts = [
        b"GET / HTTP/1.1\r\nHost: ",
        b"POST /api/repos/create HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{",
        b"GET /lab/net/resolve/main/a.bin HTTP/1.1\r\nHost: a\r\n\r\n",
    ]
    with contextlib.ExitStack() as stack:
        slow = []
        for number in range(300):
            connection = socket.create_connection((host, int(port)))
            stack.enter_context(connection)
            connection.sendall(starts[number % 3])
            slow.append(connection)
        for path in ("/healthz", "/", "/lab/net", "/lab/net/resolve/main/a.bin"):
            assert httpx.get(f"{front}{path}", timeout=20).status_code == 200
        for connection in slow[2::3]:
            # The hub has answered, and the proxy holds the answer.
            connection.settimeout(60)
            assert connection.recv(1) == b"H"
        # A head that does not end has a deadline.
        slow[0].settimeout(20)
        with contextlib.suppress(ConnectionResetError):
            assert slow[0].recv(1000) == b""


def test_no_address_fills_the_server_of_transfers(front: str, charlie: User) -> None:
    host, port = front.removeprefix("http://").split(":")
    head = (
        f"PUT /api/v1/blobs/{'0' * 64} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n"
        f"Content-Type: application/octet-stream\r\n"
        f"Authorization: Bearer {make_token(charlie)}\r\n\r\n{{"
    )
    with contextlib.ExitStack() as stack:
        for _ in range(proxy.TRANSFERS_BY_ADDRESS):
            connection = stack.enter_context(socket.create_connection((host, int(port))))
            connection.sendall(head.encode())
        deadline = time.monotonic() + 60
        while (refused := httpx.get(f"{front}/lab/net/crate")).status_code != 429:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert int(refused.headers["Retry-After"]) > 0
        assert httpx.get(f"{front}/models").status_code == 200
        # Many devices may share an address; without a token, one is no device.
        assert httpx.post(f"{front}/api/v1/agent/heartbeat").status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "/static/../nginx.conf",
        "/static/..%2fnginx.conf",
        "/static/%2e%2e/nginx.conf",
        "/static../nginx.conf",
        "/static/../_blobs/../nginx.conf",
        "/%5fblobs/../nginx.conf",
    ],
)
def test_no_address_leads_out_of_the_folders(front: str, path: str) -> None:
    host, port = front.removeprefix("http://").split(":")
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request.encode())
        with connection.makefile("rb") as answer:
            content = answer.read()
    assert content.split()[1] != b"200"
    assert b"master_process" not in content


def test_an_outer_proxy_is_believed_only_if_there_is_one(tmp_path: Path) -> None:
    values = {"run": tmp_path, "blobs": tmp_path, "static": tmp_path, "hub_url": "http://hub"}
    alone = proxy.configuration(proxy.ProxySettings(host="::1", port=8000, **values))
    behind = proxy.configuration(
        proxy.ProxySettings(host="127.0.0.1", port=8000, behind_proxy=True, **values)
    )
    assert "X-Forwarded-Proto $scheme;" in alone
    assert "X-Forwarded-For $remote_addr;" in alone
    assert "real_ip" not in alone
    assert "listen [::1]:8000 " in alone
    assert "X-Forwarded-Proto $http_x_forwarded_proto;" in behind
    assert "real_ip_header X-Forwarded-For;" in behind
