"""Downloads go on where they broke off, and count only when their digest is right."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hpcfair.cache import Cache
from hpcfair.config import Config
from hpcfair.download import fetch_tree
from hpcfair.errors import Corrupt, HubUnreachable, UnsafePath
from hpcfair.transport import Transport
from hpcfair.types import File

DATA = bytes(range(256)) * 40


class Breaking(httpx.SyncByteStream):
    """A body whose connection is lost on the way."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self._data
        raise httpx.ReadError("connection reset")


@pytest.fixture
def cache(config: Config) -> Cache:
    return Cache(config.cache)


@pytest.fixture
def file(hub: Any) -> File:
    return File.from_json(hub.keep(DATA, "model.onnx"))


def partial_files(cache: Cache) -> list[Path]:
    return sorted((cache.root / "partial").iterdir())


def test_a_downloaded_file_is_there_under_its_name(
    http: Transport, cache: Cache, file: File
) -> None:
    folder = fetch_tree(http, cache, [file], what="lab/tiny")

    assert (folder / "model.onnx").read_bytes() == DATA
    assert partial_files(cache) == []


def test_what_is_cached_is_not_asked_for_again(
    hub: Any, http: Transport, cache: Cache, file: File
) -> None:
    first = fetch_tree(http, cache, [file], what="lab/tiny")
    hub.requests.clear()

    assert fetch_tree(http, cache, [file], what="lab/tiny") == first
    assert hub.requests == []


def test_a_broken_download_goes_on_where_it_stopped(
    hub: Any, http: Transport, cache: Cache, file: File
) -> None:
    hub.faults = [httpx.Response(200, stream=Breaking(DATA[:1000]))]

    folder = fetch_tree(http, cache, [file], what="lab/tiny")

    assert (folder / "model.onnx").read_bytes() == DATA
    assert hub.requests[1].headers["Range"] == "bytes=1000-"
    # Buckets name files by other tags, and would send the whole.
    assert "If-Range" not in hub.requests[1].headers


def test_an_abandoned_download_is_taken_up_by_the_next_process(
    hub: Any, http: Transport, cache: Cache, file: File
) -> None:
    hub.faults = [httpx.Response(200, stream=Breaking(DATA[:1000])), httpx.Response(404)]
    with pytest.raises(FileNotFoundError):
        fetch_tree(http, cache, [file], what="lab/tiny")
    assert [path.suffix for path in partial_files(cache)] == [".rest"]

    fetch_tree(http, cache, [file], what="lab/tiny")

    assert hub.requests[-1].headers["Range"] == "bytes=1000-"
    assert partial_files(cache) == []


def test_a_download_somebody_is_writing_is_left_to_them(cache: Cache, file: File) -> None:
    theirs = cache.partials.start(file.sha256)
    theirs.write_bytes(DATA[:10])

    ours = cache.partials.start(file.sha256)

    assert ours.read_bytes() == b""
    assert theirs.exists()


def test_a_download_whose_writer_died_is_taken_up(cache: Cache, file: File) -> None:
    theirs = cache.partials.start(file.sha256)
    theirs.write_bytes(DATA[:10])
    os.utime(theirs, (time.time() - 1000,) * 2)

    assert cache.partials.start(file.sha256).read_bytes() == DATA[:10]


def test_a_damaged_rest_is_thrown_away(hub: Any, http: Transport, cache: Cache, file: File) -> None:
    rest = cache.partials.start(file.sha256)
    rest.write_bytes(b"\0" * 1000)
    cache.partials.leave(rest)

    folder = fetch_tree(http, cache, [file], what="lab/tiny")

    assert (folder / "model.onnx").read_bytes() == DATA


def test_a_hub_without_ranges_is_asked_for_the_whole(
    hub: Any, http: Transport, cache: Cache, file: File
) -> None:
    hub.on("GET", file.url, DATA)
    hub.faults = [httpx.Response(200, stream=Breaking(DATA[:1000]))]

    folder = fetch_tree(http, cache, [file], what="lab/tiny")

    assert (folder / "model.onnx").read_bytes() == DATA


def test_bytes_with_another_digest_are_refused_and_not_kept(
    hub: Any, http: Transport, cache: Cache, file: File
) -> None:
    hub.on("GET", file.url, DATA[::-1])

    with pytest.raises(Corrupt, match="digest"):
        fetch_tree(http, cache, [file], what="lab/tiny")
    assert not cache.has(file)
    assert partial_files(cache) == []


@pytest.mark.parametrize("sent", [DATA[:-1], DATA + b"!"])
def test_bytes_of_another_number_are_refused(
    hub: Any, http: Transport, cache: Cache, file: File, sent: bytes
) -> None:
    hub.on("GET", file.url, sent)

    with pytest.raises(Corrupt, match="bytes of model"):
        fetch_tree(http, cache, [file], what="lab/tiny")


def test_a_hub_that_never_stops_sending_does_not_fill_the_disk(
    hub: Any, http: Transport, cache: Cache, file: File
) -> None:
    endless = httpx.Response(200, stream=httpx.ByteStream(DATA * 1000))
    hub.faults = [endless]

    with pytest.raises(Corrupt):
        fetch_tree(http, cache, [file], what="lab/tiny")
    kept = sum(path.stat().st_size for path in cache.root.rglob("*") if path.is_file())
    assert kept < len(DATA) * 100


def test_a_connection_that_never_gains_a_byte_is_given_up(
    hub: Any, http: Transport, cache: Cache, file: File
) -> None:
    hub.faults = [httpx.Response(200, stream=Breaking(b"")) for _ in range(10)]

    with pytest.raises(HubUnreachable):
        fetch_tree(http, cache, [file], what="lab/tiny")


def test_an_empty_file_needs_no_request(hub: Any, http: Transport, cache: Cache) -> None:
    empty = File.from_json(hub.keep(b"", "empty.txt"))

    folder = fetch_tree(http, cache, [empty], what="lab/tiny")

    assert (folder / "empty.txt").read_bytes() == b""
    assert hub.requests == []


@pytest.mark.parametrize("path", ["../evil", "/evil", "a\\evil", "a/../../evil", "e\nvil"])
def test_a_file_that_would_leave_the_cache_is_not_written(
    hub: Any, http: Transport, cache: Cache, path: str
) -> None:
    evil = File.from_json(hub.keep(b"evil", path))

    with pytest.raises(UnsafePath):
        fetch_tree(http, cache, [evil], what="lab/tiny")
    assert not list(cache.root.parent.rglob("*evil*"))
    assert not list((cache.root / "trees").glob("*"))


def test_a_digest_that_would_leave_the_cache_is_not_used(
    hub: Any, http: Transport, cache: Cache
) -> None:
    with pytest.raises(UnsafePath):
        fetch_tree(http, cache, [File("model.onnx", "../../evil", 4, "/x")], what="lab/tiny")
    assert hub.requests == []


def test_equal_files_are_fetched_once(hub: Any, http: Transport, cache: Cache) -> None:
    files = [File.from_json(hub.keep(DATA, path)) for path in ("a.bin", "sub/b.bin")]

    folder = fetch_tree(http, cache, files, what="lab/tiny")

    assert (folder / "sub" / "b.bin").read_bytes() == DATA
    assert len(hub.requests) == 1
