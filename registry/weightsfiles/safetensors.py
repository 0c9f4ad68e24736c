"""Headers of safetensors files.

::

    8 bytes   length of the header, little-endian
    header    {"name": {"dtype": "F32", "shape": [...], "data_offsets": [begin, end]}, ...}
    data

Source: https://github.com/huggingface/safetensors#format
"""

import json
import math
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from registry.weightsfiles.facts import HeaderTensor, Unreadable, WeightsFacts, facts_of

NAME = "safetensors"
#: The format's own limit.
_FORMAT_BYTES = 100_000_000
#: Larger headers are not read when a page is shown. Names and shapes of 50,000 tensors take 6 MB.
_MOST_BYTES = 16 * 2**20
_MOST_RANK = 32
_MOST_METADATA = 50
#: Bits of one value of a type.
BITS = {
    **dict.fromkeys(["F4"], 4),
    **dict.fromkeys(["F6_E2M3", "F6_E3M2"], 6),
    **dict.fromkeys(["BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0"], 8),
    **dict.fromkeys(["I16", "U16", "F16", "BF16"], 16),
    **dict.fromkeys(["I32", "U32", "F32"], 32),
    **dict.fromkeys(["I64", "U64", "F64", "C64"], 64),
}


def read(stream: BinaryIO, size_bytes: int) -> WeightsFacts:
    """Facts of a file; a tensor that the header describes wrongly is a finding.

    Raises:
        Unreadable: there is no header that could be read.
    """
    length = _length(stream.read(8), size_bytes)
    try:
        pairs = json.loads(stream.read(length), object_pairs_hook=list)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"Its header is not JSON: {error}.") from error
    if not _is_object(pairs):
        raise Unreadable("Its header is not a JSON object.")
    names = [name for name, _ in pairs]
    findings = [] if len(set(names)) == len(names) else ["A name occurs twice in the header."]
    data_bytes = size_bytes - 8 - length
    tensors: list[HeaderTensor] = []
    ranges: list[tuple[int, int]] = []
    for name, described in pairs:
        if name == "__metadata__":
            continue
        try:
            tensor, place = _tensor(name, described, data_bytes)
        except Unreadable as error:
            findings.append(f"The tensor {name!r:.100} {error}.")
        else:
            tensors.append(tensor)
            ranges.append(place)
    findings += _gaps(ranges, data_bytes)
    metadata = dict(pairs).get("__metadata__", [])
    shown = metadata[:_MOST_METADATA] if _is_object(metadata) else []
    return facts_of(NAME, tensors, shown, findings)


def _length(start: bytes, size_bytes: int) -> int:
    if len(start) < 8:
        raise Unreadable("It is shorter than the length of its header.")
    length: int = struct.unpack("<Q", start)[0]
    if length > size_bytes - 8:
        raise Unreadable(
            f"It says that its header has {length:,} bytes, but the file has {size_bytes:,}."
        )
    if length > _FORMAT_BYTES:
        raise Unreadable(f"Its header has {length:,} bytes; safetensors permits {_FORMAT_BYTES:,}.")
    if length > _MOST_BYTES:
        raise Unreadable(
            f"Its header has {length:,} bytes; headers up to {_MOST_BYTES:,} are read here."
        )
    return length


def _is_object(value: Any) -> bool:
    """Whether ``value`` is what ``object_pairs_hook=list`` makes of an object."""
    return isinstance(value, list) and all(isinstance(pair, tuple) for pair in value)


def _tensor(name: str, described: Any, data_bytes: int) -> tuple[HeaderTensor, tuple[int, int]]:
    fields = dict(described) if _is_object(described) else {}
    match fields:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [int(begin), int(end)]}:
            pass
        case _:
            raise Unreadable("has no type, shape and place")
    if dtype not in BITS:
        raise Unreadable(f"has the unknown type {dtype!r:.40}")
    if len(shape) > _MOST_RANK or not all(type(n) is int and n >= 0 for n in shape):
        raise Unreadable("has an impossible shape")
    if not 0 <= begin <= end <= data_bytes:
        raise Unreadable(f"lies outside the file ({begin:,} to {end:,} of {data_bytes:,} bytes)")
    elements = math.prod(shape)
    if elements * BITS[dtype] != (end - begin) * 8:
        raise Unreadable(f"has {elements:,} values of {dtype}, but {end - begin:,} bytes")
    return HeaderTensor(name, dtype, tuple(shape), end - begin), (begin, end)


def _gaps(ranges: list[tuple[int, int]], data_bytes: int) -> Iterator[str]:
    """Findings about bytes that belong to no tensor, or to several."""
    last = 0
    for begin, end in sorted(ranges):
        if begin < last:
            yield f"Tensors overlap at byte {begin:,} of the data."
        elif begin > last:
            yield f"{begin - last:,} bytes from byte {last:,} of the data belong to no tensor."
        last = max(last, end)
    if last < data_bytes:
        yield f"{data_bytes - last:,} bytes at the end belong to no tensor."
