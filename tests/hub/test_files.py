"""Bytes over HTTP: whole, in ranges, revalidated, handed to nginx."""

import hashlib
import os
from pathlib import Path
from typing import Any
from wsgiref.util import FileWrapper

import pytest
from django.test import RequestFactory
from hypothesis import given, settings
from hypothesis import strategies as st

from hub import files
from hub.files import count_download, serve_blob, starts_download
from hub.ranges import RangeNotSatisfiable, requested_range
from registry.tables import Blob, MLModel
from tests.factories import store

BYTES = bytes(range(256)) * 4
ETAG = f'"{hashlib.sha256(BYTES).hexdigest()}"'
pytestmark = pytest.mark.django_db


@pytest.fixture
def blob(db: None) -> Blob:
    return store(BYTES)


def ask(blob: Blob, method: str = "GET", path: str = "model.bin", **headers: str) -> Any:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    request = RequestFactory().generic(method, "/", headers=given)
    response = serve_blob(request, blob, path=path, cache_control="public, no-cache")
    response.body = b"".join(response) if response.streaming else response.content  # type: ignore[attr-defined]
    response.close()
    return response


def test_the_whole_file_comes_with_its_digest(blob: Blob) -> None:
    response = ask(blob)
    assert response.status_code == 200
    assert response.body == BYTES
    assert response["ETag"] == ETAG
    assert response["Content-Length"] == "1024"
    assert response["Accept-Ranges"] == "bytes"
    assert response["Cache-Control"] == "public, no-cache"


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=10-19", 10, 19),
        ("bytes=1000-", 1000, 1023),
        ("bytes=1000-9999", 1000, 1023),
        ("bytes=-24", 1000, 1023),
        ("bytes=-9999", 0, 1023),
    ],
)
def test_a_range_comes_alone(blob: Blob, asked: str, first: int, last: int) -> None:
    response = ask(blob, Range=asked)
    assert response.status_code == 206
    assert response["Content-Range"] == f"bytes {first}-{last}/1024"
    assert response["Content-Length"] == str(last - first + 1)
    assert response.body == BYTES[first : last + 1]


@pytest.mark.parametrize("asked", ["bytes=1024-", "bytes=5000-6000", "bytes=-0"])
def test_a_range_behind_the_end_cannot_be_met(blob: Blob, asked: str) -> None:
    response = ask(blob, Range=asked)
    assert response.status_code == 416
    assert response["Content-Range"] == "bytes */1024"
    assert response.body == b""


@pytest.mark.parametrize(
    "asked", ["bytes=5-1", "bytes=", "bytes=a-b", "lines=1-2", "bytes=0-1,5-6", "bytes=-", "x"]
)
def test_a_range_that_makes_no_sense_is_ignored(blob: Blob, asked: str) -> None:
    response = ask(blob, Range=asked)
    assert response.status_code == 200
    assert response.body == BYTES


def test_a_range_of_other_bytes_gets_the_whole(blob: Blob) -> None:
    assert ask(blob, Range="bytes=1-2", If_Range=ETAG).status_code == 206
    assert ask(blob, Range="bytes=1-2", If_Range='"other"').body == BYTES
    assert ask(blob, Range="bytes=1-2", If_Range="Sat, 29 Oct 2025 19:43:31 GMT").body == BYTES


def test_known_bytes_are_not_sent_again(blob: Blob) -> None:
    response = ask(blob, If_None_Match=ETAG)
    assert response.status_code == 304
    assert response.body == b""
    assert response["ETag"] == ETAG
    assert ask(blob, If_None_Match='"other"').status_code == 200
    assert ask(blob, If_None_Match=ETAG, Range="bytes=0-1").status_code == 304
    assert ask(blob, If_Match='"other"').status_code == 412


def test_head_tells_the_size_and_sends_nothing(blob: Blob) -> None:
    response = ask(blob, "HEAD", Range="bytes=0-1")
    assert response.status_code == 200
    assert response["Content-Length"] == "1024"
    assert response.body == b""


def test_an_empty_file_is_a_file() -> None:
    empty = store(b"")
    response = ask(empty)
    assert (response.status_code, response.body) == (200, b"")
    assert response["Content-Length"] == "0"
    assert ask(empty, Range="bytes=0-").status_code == 416


@pytest.mark.parametrize(
    ("path", "content_type", "kind"),
    [
        ("a/card.md", "text/markdown; charset=utf-8", "inline"),
        ("run.py", "text/x-python; charset=utf-8", "inline"),
        ("record.json", "application/json", "inline"),
        ("record.jsonld", "application/ld+json", "attachment"),
        ("table.parquet", "application/vnd.apache.parquet", "attachment"),
        ("feed.xml", "application/octet-stream", "attachment"),
        ("plot.png", "image/png", "inline"),
        ("page.html", "application/octet-stream", "attachment"),
        ("drawing.svg", "application/octet-stream", "attachment"),
        ("model.onnx", "application/octet-stream", "attachment"),
        ('odd"ä\n.bin', "application/octet-stream", "attachment"),
    ],
)
def test_a_strangers_file_cannot_run_in_the_hubs_name(
    blob: Blob, path: str, content_type: str, kind: str
) -> None:
    response = ask(blob, path=path)
    assert response["Content-Type"] == content_type
    assert response["Content-Disposition"].startswith(kind)
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]


def test_nginx_is_told_where_the_bytes_are(blob: Blob, settings: Any) -> None:
    settings.ACCEL_PREFIX = "/_blobs/"
    response = ask(blob, Range="bytes=0-1")
    place = Path(settings.DATA_DIR / "blobs") / response["X-Accel-Redirect"].removeprefix(
        "/_blobs/"
    )
    assert place.read_bytes() == BYTES
    assert response.body == b""
    assert response["Content-Type"] == "application/octet-stream"


@settings(deadline=None)
@given(size=st.integers(0, 20), first=st.integers(0, 25), last=st.none() | st.integers(0, 25))
def test_ranges_cut_as_slices_do(size: int, first: int, last: int | None) -> None:
    asked = f"bytes={first}-{'' if last is None else last}"
    request = RequestFactory().get("/", headers={"Range": asked})
    data = bytes(range(size))
    expected = data[first : None if last is None else last + 1]
    try:
        cut = requested_range(request, '"x"', size)
    except RangeNotSatisfiable:
        assert expected == b""
    else:
        if cut is None:
            assert last is not None
            assert last < first
        else:
            assert data[cut[0] : cut[1] + 1] == expected


def test_only_a_first_byte_starts_a_download() -> None:
    factory = RequestFactory()
    assert starts_download(factory.get("/"))
    assert starts_download(factory.get("/", headers={"Range": "bytes=0-99"}))
    assert not starts_download(factory.get("/", headers={"Range": "bytes=100-"}))
    assert not starts_download(factory.head("/"))
    for crawler in ("Googlebot/2.1 (+http://www.google.com/bot.html)", "GPTBot", "a-crawler/1"):
        assert not starts_download(factory.get("/", headers={"User-Agent": crawler}))
    for client in ("unknown/None; hf_hub/1.2.0; python/3.11", "curl/8.5.0", "Mozilla/5.0 Firefox"):
        assert starts_download(factory.get("/", headers={"User-Agent": client}))


def test_a_server_that_sends_files_itself_gets_position_and_length(blob: Blob) -> None:
    """What gunicorn's sendfile reads: the descriptor's position, and Content-Length."""
    request = RequestFactory().get("/", headers={"Range": "bytes=7-11"})
    response: Any = serve_blob(request, blob, path="x", cache_control="")
    stream = response.file_to_stream
    assert os.lseek(stream.fileno(), 0, os.SEEK_CUR) == 7
    assert response["Content-Length"] == "5"
    # Other servers read: they must come to an end where the range does.
    assert b"".join(FileWrapper(stream, 2)) == BYTES[7:12]
    response.close()


def test_bytes_are_closed_even_where_a_download_cannot_be_counted(
    blob: Blob, galaxy: MLModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("no database")

    monkeypatch.setattr(files, "mlmodel_downloaded", fail)
    request = RequestFactory().get("/")
    response: Any = serve_blob(request, blob, path="model.bin", cache_control="no-cache")
    stream = response.file_to_stream
    count_download(request, response, galaxy)
    with pytest.raises(RuntimeError, match="no database"):
        response.close()
    assert stream._stream.closed
