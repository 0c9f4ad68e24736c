"""The cache: real files, verified, shared by any number of processes without a lock."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from hpcfair.cache import Cache
from hpcfair.config import Config
from hpcfair.download import fetch_tree
from hpcfair.errors import Corrupt
from hpcfair.transport import Transport
from hpcfair.tree import find_tree, make_tree
from hpcfair.types import File


@pytest.fixture
def cache(config: Config) -> Cache:
    return Cache(config.cache)


@pytest.fixture
def files(hub: Any) -> list[File]:
    return [
        File.from_json(hub.keep(data, path))
        for path, data in {"model.onnx": b"graph" * 100, "sub/weights.bin": b"w" * 5000}.items()
    ]


def overwrite(path: Path, data: bytes, *, same_time: bool = False) -> None:
    """Write ``data`` a second after ``path`` was last written, or as if at the same moment.

    The times of files have steps of some milliseconds on many systems, and a test is faster.
    """
    before = path.stat()
    path.chmod(0o644)
    path.write_bytes(data)
    later_ns = 0 if same_time else 10**9
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + later_ns))


def test_several_files_are_real_ones_of_their_own(
    http: Transport, cache: Cache, files: list[File]
) -> None:
    folder = fetch_tree(http, cache, files, what="lab/tiny")

    for file in files:
        status = (folder / file.path).lstat()
        assert stat.S_ISREG(status.st_mode)
        assert status.st_nlink == 1


def test_onnx_opens_external_data_out_of_the_cache(
    hub: Any, http: Transport, cache: Cache, tmp_path: Path
) -> None:
    weight = onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "big",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 64])],
        [weight],
    )
    source = tmp_path / "source"
    source.mkdir()
    onnx.save(
        helper.make_model(graph),
        source / "model.onnx",
        save_as_external_data=True,
        location="model.data",
        size_threshold=0,
    )
    entries = [
        File.from_json(hub.keep((source / path).read_bytes(), path))
        for path in ("model.onnx", "model.data")
    ]

    folder = fetch_tree(http, cache, entries, what="lab/big")

    onnx.checker.check_model(folder / "model.onnx")
    assert len(onnx.load(folder / "model.onnx").graph.initializer[0].raw_data) == 4096 * 4


def test_files_of_the_cache_are_not_writable(
    http: Transport, cache: Cache, files: list[File]
) -> None:
    folder = fetch_tree(http, cache, files, what="lab/tiny")

    assert stat.S_IMODE((folder / "model.onnx").stat().st_mode) == 0o444


def test_a_cached_file_of_another_size_is_noticed(
    http: Transport, cache: Cache, files: list[File]
) -> None:
    folder = fetch_tree(http, cache, files, what="lab/tiny")
    overwrite(folder / "model.onnx", b"short", same_time=True)

    assert find_tree(cache, files) is None
    again = fetch_tree(http, cache, files, what="lab/tiny")
    assert (again / "model.onnx").read_bytes() == b"graph" * 100


def test_a_cached_file_somebody_touched_is_hashed_again(
    http: Transport, cache: Cache, files: list[File]
) -> None:
    folder = fetch_tree(http, cache, files, what="lab/tiny")
    overwrite(folder / "model.onnx", b"GRAPH" * 100)

    assert find_tree(cache, files) is None


def test_a_cached_file_touched_but_not_changed_still_counts(
    http: Transport, cache: Cache, files: list[File]
) -> None:
    folder = fetch_tree(http, cache, files, what="lab/tiny")
    overwrite(folder / "model.onnx", b"graph" * 100)

    assert find_tree(cache, files) == folder


def test_silent_damage_is_found_on_demand_and_repaired(
    hub: Any, http: Transport, cache: Cache, files: list[File]
) -> None:
    folder = fetch_tree(http, cache, files, what="lab/tiny")
    overwrite(folder / "model.onnx", b"GRAPH" * 100, same_time=True)
    assert find_tree(cache, files) == folder

    again = fetch_tree(http, cache, files, what="lab/tiny", verify=True)

    assert (again / "model.onnx").read_bytes() == b"graph" * 100


def test_a_link_put_in_a_files_place_is_not_followed(
    http: Transport, cache: Cache, files: list[File], tmp_path: Path
) -> None:
    folder = fetch_tree(http, cache, files, what="lab/tiny")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"graph" * 100)
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").symlink_to(elsewhere)

    assert find_tree(cache, files) is None


def test_a_damaged_blob_is_dropped_and_fetched_again(
    hub: Any, http: Transport, cache: Cache, files: list[File]
) -> None:
    fetch_tree(http, cache, files[:1], what="lab/tiny")
    overwrite(cache.blob(files[0].sha256), b"GRAPH" * 100)
    hub.requests.clear()

    folder = fetch_tree(http, cache, files, what="lab/tiny")

    assert (folder / "model.onnx").read_bytes() == b"graph" * 100
    assert len(hub.calls("GET", files[0].url)) == 1


def test_a_tree_is_not_made_of_damaged_blobs(
    http: Transport, cache: Cache, files: list[File]
) -> None:
    fetch_tree(http, cache, files[:1], what="lab/tiny")
    overwrite(cache.blob(files[0].sha256), b"GRAPH" * 100)

    with pytest.raises(Corrupt):
        make_tree(cache, files[:1], what="lab/tiny")
    assert not cache.blob(files[0].sha256).exists()


def test_a_kept_answer_comes_back(cache: Cache) -> None:
    cache.keep_answer("ab" * 32, {"build": None})

    assert cache.answer("ab" * 32) == {"build": None}
    assert cache.answer("cd" * 32) is None


def test_a_damaged_answer_is_none(cache: Cache) -> None:
    cache.keep_answer("ab" * 32, {"build": None})
    (cache.root / "answers" / f"{'ab' * 32}.json").write_text('{"buil')

    assert cache.answer("ab" * 32) is None


WORKER = """
import json, sys
from pathlib import Path
from hpcfair.cache import Cache
from hpcfair.tree import make_tree
from hpcfair.types import File

cache = Cache(Path(sys.argv[1]))
files = [File.from_json(item) for item in json.loads(sys.argv[2])]
for _ in range(8):
    folder = make_tree(cache, files, what="lab/tiny")
    assert (folder / "model.onnx").read_bytes() == b"graph" * 100
"""


def test_many_processes_may_make_the_same_tree_at_once(
    http: Transport, cache: Cache, files: list[File]
) -> None:
    fetch_tree(http, cache, files[:1], what="one")
    fetch_tree(http, cache, files[1:], what="other")
    listed = json.dumps([asdict(file) for file in files])

    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, cache.root, listed]) for _ in range(4)
    ]

    assert [worker.wait() for worker in workers] == [0, 0, 0, 0]
    assert find_tree(cache, files, thorough=True) is not None
    assert list((cache.root / "partial").iterdir()) == []
