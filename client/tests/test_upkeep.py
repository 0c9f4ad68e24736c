"""Looking after the cache."""

import os
import time
from typing import Any

import pytest

from hpcfair import upkeep
from hpcfair.cache import Cache
from hpcfair.config import Config
from hpcfair.download import fetch_tree
from hpcfair.transport import Transport
from hpcfair.types import File

DAY_S = 86_400.0


@pytest.fixture
def cache(hub: Any, http: Transport, config: Config) -> Cache:
    """Two models that share a file of weights; the first was last used two days ago."""
    cache = Cache(config.cache)
    shared = File.from_json(hub.keep(b"shared" * 1000, "weights.bin"))
    for name, data in {"lab/old": b"old", "lab/new": b"new"}.items():
        graph = File.from_json(hub.keep(data * 100, "model.onnx"))
        fetch_tree(http, cache, [graph, shared], what=name)
    long_ago = time.time() - 2 * DAY_S
    for path in cache.root.rglob("*"):
        os.utime(path, (long_ago, long_ago))
    newest = next(e for e in upkeep.entries(cache) if e.what == "lab/new")
    os.utime(cache.tree(newest.id))
    return cache


def test_entries_are_listed_last_used_first(cache: Cache) -> None:
    assert [entry.what for entry in upkeep.entries(cache)] == ["lab/new", "lab/old"]
    assert [entry.size_bytes for entry in upkeep.entries(cache)] == [6300, 6300]


def test_an_empty_cache_has_no_entries(config: Config) -> None:
    assert upkeep.entries(Cache(config.cache / "nowhere")) == []


def test_prune_removes_what_was_not_used(cache: Cache) -> None:
    removed = upkeep.prune(cache, unused_s=DAY_S)

    assert removed.entries == 1
    # The old graph twice, as blob and in its tree, and one copy of the shared weights.
    assert removed.size_bytes > 6000
    assert [entry.what for entry in upkeep.entries(cache)] == ["lab/new"]


def test_prune_keeps_the_blobs_of_what_stays(cache: Cache) -> None:
    upkeep.prune(cache, unused_s=DAY_S)

    entry = upkeep.entries(cache)[0]
    assert all(cache.has(file) for file in entry.files)
    assert len(list((cache.root / "blobs").rglob("?" * 64))) == len(entry.files)


def test_prune_of_everything_leaves_nothing_but_the_tag(cache: Cache) -> None:
    upkeep.prune(cache, unused_s=0)

    assert [path.name for path in cache.root.rglob("*") if path.is_file()] == ["CACHEDIR.TAG"]


def test_verify_finds_nothing_in_a_sound_cache(cache: Cache) -> None:
    assert upkeep.verify(cache) == []
    assert len(upkeep.entries(cache)) == 2


def test_verify_names_and_removes_what_is_damaged(cache: Cache) -> None:
    old = next(entry for entry in upkeep.entries(cache) if entry.what == "lab/old")
    damaged = cache.tree(old.id) / "files" / "model.onnx"
    times = damaged.stat()
    damaged.chmod(0o644)
    damaged.write_bytes(b"bad" * 100)
    os.utime(damaged, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert upkeep.verify(cache) == ["lab/old: model.onnx"]
    assert [entry.what for entry in upkeep.entries(cache)] == ["lab/new"]


def test_verify_names_and_removes_a_damaged_blob(cache: Cache) -> None:
    digest = upkeep.entries(cache)[0].files[0].sha256
    blob = cache.blob(digest)
    blob.chmod(0o644)
    blob.write_bytes(b"bad")

    assert upkeep.verify(cache) == [f"blob {digest}"]
    assert not blob.exists()


def test_what_is_pinned_is_not_pruned(cache: Cache) -> None:
    assert upkeep.pin(cache, "lab/old") == 1
    assert upkeep.pin(cache, "lab/absent") == 0

    upkeep.prune(cache, unused_s=DAY_S)

    pinned = {entry.what: entry.is_pinned for entry in upkeep.entries(cache)}
    assert pinned == {"lab/new": False, "lab/old": True}
    upkeep.pin(cache, "lab/old", is_pinned=False)
    assert upkeep.prune(cache, unused_s=DAY_S).entries == 1


def test_a_budget_removes_what_was_used_least_recently(
    hub: Any, http: Transport, config: Config
) -> None:
    cache, limited = Cache(config.cache), Cache(config.cache, budget_bytes=100_000)
    now = time.time()
    for age, name in enumerate(("lab/a", "lab/b", "lab/c", "lab/d")):
        file = File.from_json(hub.keep(name.encode() * 6000, "model.onnx"))
        fetch_tree(http, cache, [file], what=name)
        (entry,) = [each for each in upkeep.entries(limited) if each.what == name]
        os.utime(limited.tree(entry.id), (now, now - (9 - age) * DAY_S))
    assert upkeep.size_bytes(limited) > 100_000
    upkeep.pin(limited, "lab/a")

    last = File.from_json(hub.keep(b"new" * 10_000, "model.onnx"))
    folder = fetch_tree(http, limited, [last], what="lab/new")

    assert upkeep.size_bytes(limited) <= 100_000
    # The pinned one stays, and so does what is used now.
    assert [each.what for each in upkeep.entries(limited)] == ["lab/new", "lab/d", "lab/a"]
    assert (folder / "model.onnx").read_bytes() == b"new" * 10_000


def test_a_budget_removes_nothing_that_may_be_in_use(
    hub: Any, http: Transport, config: Config
) -> None:
    limited = Cache(config.cache, budget_bytes=1)

    for name in ("lab/a", "lab/b"):
        file = File.from_json(hub.keep(name.encode(), "model.onnx"))
        fetch_tree(http, limited, [file], what=name)

    assert len(upkeep.entries(limited)) == 2
