"""``docker/nginx.conf`` in front of a live hub: what it sends itself is what the hub would."""

import base64
import getpass
import hashlib
import io
import os
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

from registry.selectors.repository.revision import file_get, revision_get
from registry.tables import Namespace, User
from tests.factories import make_mlmodel
from tests.ports import reserved_ports
from tests.programs import needs, path_of

pytestmark = [needs("nginx"), pytest.mark.django_db(transaction=True)]

CONF = Path(__file__).parents[2] / "docker" / "nginx.conf"
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
    settings.ACCEL_PREFIX = "/_blobs/"
    (data_dir / "blobs").mkdir(parents=True, exist_ok=True)
    conf = CONF.read_text()
    for ours, theirs in [
        (r"server web:8000;", f"server {live_server.url.removeprefix('http://')};"),
        (r"listen 80;", f"listen 127.0.0.1:{port};"),
        (r"alias /data/blobs/;", f"alias {data_dir}/blobs/;"),
    ]:
        conf, replaced = re.subn(re.escape(ours), theirs, conf)
        assert replaced == 1, ours
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {tmp_path}/{kind};\n" for kind in kinds)
    # Workers of root's would be nobody's, who may not read this test's folder.
    user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
    (tmp_path / "nginx.conf").write_text(
        f"{user} daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off;\n{folders}{conf}}}\n"
    )
    command = [path_of("nginx"), "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
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
