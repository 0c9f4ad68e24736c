"""Reading shards from people we do not trust, and writing those that clients read."""

import hashlib
import io
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.xet.chunks import ChunkList, chunk_records
from registry.xet.hashes import chunk_hash, parsed, spelled
from registry.xet.shard import MAX_BYTES, read_files, write_shard
from tests.registry.xet.packer import file_entry, root, shard
from tests.registry.xet.test_hashes import FACTS, GOLDEN

_CHUNKS = [b"galaxy", b"star", b"dust"]
_SHA256 = hashlib.sha256(b"".join(_CHUNKS)).hexdigest()
_RUNS = [(root(_CHUNKS), 0, 1), (root(_CHUNKS), 1, 3)]


def _refused(data: bytes) -> str:
    with pytest.raises(Invalid) as refusal:
        read_files(io.BytesIO(data))
    assert refusal.value.code == "invalid_shard"
    return str(refusal.value)


def test_a_real_shard_tells_of_the_files_its_client_sent() -> None:
    files = read_files(io.BytesIO((GOLDEN / "shard.bin").read_bytes()))
    assert {(spelled(file.digest), file.sha256, file.size_bytes) for file in files} == {
        (facts["hash"], facts["sha256"], facts["size"]) for facts in FACTS["files"].values()
    }
    assert {spelled(run.xorb) for file in files for run in file.runs()} == {FACTS["xorb"]}


def test_runs_come_in_order_with_their_proofs() -> None:
    (file,) = read_files(io.BytesIO(shard(file_entry(_CHUNKS, _RUNS, _SHA256))))
    assert file.sha256 == _SHA256
    assert file.size_bytes == 14
    assert [(run.xorb, run.first, run.end, run.raw_bytes) for run in file.runs()] == [
        (root(_CHUNKS), 0, 1, 6),
        (root(_CHUNKS), 1, 3, 8),
    ]


def test_a_file_without_its_sha256_is_refused_and_told_why() -> None:
    assert "SHA-256" in _refused(shard(file_entry(_CHUNKS, _RUNS, None)))


def test_a_file_without_proofs_is_refused() -> None:
    assert "proofs" in _refused(shard(file_entry(_CHUNKS, _RUNS, _SHA256, proofs=False)))


def test_a_run_of_no_chunks_is_refused() -> None:
    assert "no chunks" in _refused(shard(file_entry([], [(root(_CHUNKS), 1, 1)], _SHA256)))


def test_a_count_is_not_believed_before_the_bytes_came() -> None:
    head = bytes(32) + struct.pack("<IIQ", 3 << 30, 700_000, 0)
    tracemalloc.start()
    assert "cut off" in _refused(shard()[:48] + head)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


def test_a_count_beyond_any_shard_is_refused() -> None:
    head = bytes(32) + struct.pack("<IIQ", 3 << 30, 2**32 - 1, 0)
    assert "longer than" in _refused(shard()[:48] + head)


def test_a_shard_without_end_is_refused() -> None:
    assert "longer than" in _refused(shard() + bytes(MAX_BYTES))


@given(st.binary(max_size=500))
def test_any_bytes_are_refused(data: bytes) -> None:
    _refused(data)


@given(st.data())
def test_a_mutated_shard_is_refused_or_read(data: st.DataObject) -> None:
    mutated = bytearray((GOLDEN / "shard.bin").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        mutated[data.draw(st.integers(0, len(mutated) - 1))] = data.draw(st.integers(0, 255))
    try:
        files = read_files(io.BytesIO(mutated[: data.draw(st.integers(0, len(mutated)))]))
    except Invalid as refusal:
        event(refusal.code)
    else:
        for file in files:
            assert all(run.first < run.end for run in file.runs())


def test_what_is_written_can_be_found_as_clients_search_it() -> None:
    """A shard for clients; that they do read it, ``tests/hub/hf/test_xet_dedup.py`` shows."""
    one, two = (_chunk_list(names) for names in (_CHUNKS, [b"moon", b"sun"]))
    usable = np.array([True, False, True])
    xorbs = [(root(_CHUNKS), one, usable), (root([b"moon"]), two, np.array([True, True]))]
    written = write_shard(xorbs, now_s=5, end_s=6)
    footer = struct.unpack("<9Q32s2Q48s4Q", written[-200:])
    version, _, xorbs_at, _, files, xorb_lookup, xorb_count, chunk_lookup, chunk_count = footer[:9]
    assert (version, files, xorb_count, chunk_count, footer[10:12]) == (1, 0, 2, 4, (5, 6))
    assert footer[-1] == len(written) - 200
    words = [struct.unpack_from("<QII", written, chunk_lookup + 16 * n) for n in range(chunk_count)]
    assert words == sorted(words)
    for word, record, position in words:
        at = xorbs_at + 48 * (record + 1 + position)
        assert struct.unpack_from("<Q", written, at)[0] == word
    hidden = chunk_hash(_CHUNKS[1])
    assert hidden not in written
    assert chunk_hash(_CHUNKS[0]) in written
    assert xorb_lookup + 12 * xorb_count == chunk_lookup
    assert parsed(spelled(hidden)) == hidden


def _chunk_list(chunks: list[bytes]) -> ChunkList:
    return ChunkList(chunk_records((chunk_hash(c), len(c), len(c) + 8) for c in chunks))
