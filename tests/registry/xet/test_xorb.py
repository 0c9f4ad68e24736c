"""Reading xorbs from people we do not trust."""

import io
import struct
import tracemalloc

import lz4.frame
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.xet.assembly import Assembly, Extent
from registry.xet.chunks import ChunkList
from registry.xet.hashes import chunk_hash, parsed
from registry.xet.xorb import MAX_BYTES, XorbReader
from tests.registry.xet.packer import AS_IS, LZ4, PLANES, packed, root
from tests.registry.xet.test_hashes import FACTS, GOLDEN

_CHUNKS = [b"galaxy " * 100, bytes(range(256)) * 5 + b"odd", b"x"]
_XORB = packed(_CHUNKS[0], LZ4) + packed(_CHUNKS[1], PLANES) + packed(_CHUNKS[2])
_FOOTER = b"XETBLOB" + bytes(200)


def _read(data: bytes, digest: bytes, size: int = 1 << 20) -> XorbReader:
    reader, passed = XorbReader(io.BytesIO(data), digest), b""
    while piece := reader.read(size):
        passed += piece
    assert passed == data
    return reader


def _refused(data: bytes, digest: bytes | None = None) -> str:
    with pytest.raises(Invalid) as refusal:
        _read(data, root(_CHUNKS) if digest is None else digest)
    assert refusal.value.code == "invalid_xorb"
    return str(refusal.value)


@pytest.mark.parametrize("footer", [b"", _FOOTER])
@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_a_xorb_passes_through_in_pieces_of_any_size(size: int, footer: bytes) -> None:
    chunks = ChunkList(_read(_XORB + footer, root(_CHUNKS), size).records())
    assert chunks.lengths(0, 3) == [len(chunk) for chunk in _CHUNKS]
    assert chunks.hashes(1, 2) == chunk_hash(_CHUNKS[1])
    assert chunks.packed_span(2, 3) == (len(_XORB) - 9, 9)


@given(
    st.lists(
        st.tuples(st.binary(min_size=1, max_size=3000), st.sampled_from([AS_IS, LZ4, PLANES])),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 4000),
    st.data(),
)
def test_what_is_packed_any_way_is_unpacked(
    chunks: list[tuple[bytes, int]], size: int, data: st.DataObject
) -> None:
    xorb = b"".join(packed(raw, scheme) for raw, scheme in chunks)
    known = ChunkList(_read(xorb, root([raw for raw, _ in chunks])).records())
    first = data.draw(st.integers(0, len(chunks) - 1))
    end = data.draw(st.integers(first + 1, len(chunks)))
    extent = Extent("xorb", *known.packed_span(first, end), packed=True)
    assembly, raw = Assembly([extent], lambda _: io.BytesIO(xorb)), b""
    while piece := assembly.read(size):
        raw += piece
    assert raw == b"".join(raw for raw, _ in chunks[first:end])


@given(st.data())
def test_a_mutated_xorb_is_refused(data: st.DataObject) -> None:
    real = (GOLDEN / "xorb.bin").read_bytes()
    at = data.draw(st.integers(0, len(real) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != real[at]))
    end = data.draw(st.sampled_from([len(real), len(real), at + 1]))
    mutated = real[:at] + bytes([byte]) + real[at + 1 : end]
    reader = XorbReader(io.BytesIO(mutated), parsed(FACTS["xorb"]) or b"")
    try:
        while reader.read(data.draw(st.sampled_from([50, 10_000]))):
            pass
    except Invalid as refusal:
        event(refusal.code)
    else:
        # Some bits of a packed chunk mean nothing: then the chunks are as they were.
        assert len(ChunkList(reader.records())) == 3


@given(st.binary(max_size=300), st.integers(1, 40))
def test_any_bytes_are_refused(data: bytes, size: int) -> None:
    with pytest.raises(Invalid):
        _read(data, root(_CHUNKS), size)


@pytest.mark.parametrize("length", range(0, len(_XORB), 9))
def test_a_truncated_xorb_is_refused(length: int) -> None:
    _refused(_XORB[:length])


def test_another_address_is_refused() -> None:
    assert "another hash" in _refused(_XORB, root(_CHUNKS[:2]))


def test_a_bomb_is_refused_before_it_goes_off() -> None:
    bomb = lz4.frame.compress(bytes(60_000_000))[: 2 * 128 * 1024]
    header = struct.pack("<I", len(bomb) << 8) + struct.pack("<I", 131_072 << 8 | LZ4)
    tracemalloc.start()
    _refused(header + bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * 2**20


@pytest.mark.parametrize(
    "chunk",
    [
        packed(b"abc", claims=4),
        packed(b"abc", claims=2),
        packed(b"abc", LZ4, claims=4),
        packed(b"abc" * 99, LZ4, claims=2),
        packed(b"abc", LZ4, claims=0),
        packed(b""),
        packed(bytes(131_073)),
        packed(b"abc", 3),
        packed(b"abc", 99),
        packed(b"abc", LZ4, tail=lz4.frame.compress(b"more")),
        b"\0" + bytes(7),
        b"\0\xff\xff\xff\0\1\0\0",
    ],
)
def test_a_forged_chunk_is_refused(chunk: bytes) -> None:
    _refused(chunk, chunk_hash(b"abc"))


def test_more_chunks_than_a_xorb_may_have_are_refused() -> None:
    assert "8192 chunks" in _refused(packed(b"x") * 8193)


def test_more_bytes_than_a_xorb_may_unpack_to_are_refused() -> None:
    assert "67108864 bytes" in _refused(packed(bytes(131_072), LZ4) * 513)


def test_a_footer_without_end_is_refused() -> None:
    endless = _XORB + b"X" * 500_000
    assert len(endless) < MAX_BYTES
    assert "footer" in _refused(endless)


def test_what_was_not_read_to_its_end_has_no_chunks() -> None:
    reader = XorbReader(io.BytesIO(_XORB), root(_CHUNKS))
    reader.read(10)
    with pytest.raises(RuntimeError):
        reader.records()
