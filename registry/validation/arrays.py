"""Headers of NumPy archives (``.npz``): names, element types and shapes, read without NumPy.

An archive is an untrusted file, and this module runs in web processes. So it reads the table of
contents and the header of each array by a fixed grammar, a few kilobytes in all. It reads no
elements: the device checks in a confined child process whether the data agree with the headers.
"""

import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from registry.errors import Invalid

#: Upper bounds on the arrays of an archive, and on the bytes of its table of contents.
MOST_ARRAYS, _MOST_CONTENTS = 256, 2**20
_MOST_HEADER = 4096
_END = 22
_END_64 = 20
_STORED = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_HEADER = re.compile(
    r"\{'descr': '(?P<descr>[^']{1,12})', 'fortran_order': (?:True|False), "
    r"'shape': \((?P<shape>[0-9, ]{0,400})\), \}\s*"
)
_DESCR = re.compile(r"[<>|=]?(?P<kind>[biufcUS])(?P<size>[0-9]{1,6})")
_ANY_RANK = "..."
_NUMBERS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}
_HINT = "Write it with numpy.savez: numeric arrays, each under the name of an input."


@dataclass(frozen=True, slots=True)
class ArrayHeader:
    """The header of an array.

    Attributes:
        dtype: NumPy's name of the element type; ``string`` for text.
        size_bytes: Size of all elements together.
    """

    dtype: str
    shape: tuple[int, ...]
    size_bytes: int

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def read_headers(stream: BinaryIO, size_bytes: int) -> dict[str, ArrayHeader]:
    """The headers of the arrays in an archive, by name.

    Args:
        stream: The archive; must be seekable.
        size_bytes: Length of the archive.

    Raises:
        Invalid: ``invalid_inputs``: the archive is malformed or contains Python objects (pickles).
    """
    try:
        _check_contents(stream, size_bytes)
        with zipfile.ZipFile(stream) as archive:
            return dict(_header(archive, member) for member in _members(archive))
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        OSError,
        RuntimeError,
        ValueError,
        struct.error,
    ) as error:
        raise Invalid(
            "invalid_inputs", f"The inputs are not a readable .npz: {error}.", _HINT
        ) from error


def input_faults(
    headers: Mapping[str, ArrayHeader], signature: Mapping[str, Any]
) -> dict[str, str]:
    """Reasons why arrays do not fit a network, by input name; empty if all fit.

    ``signature`` is ``{"inputs": [{"name", "dtype", "shape"}], ...}``; a dimension that is not an
    integer may have any size, the same under one name.
    """
    faults: dict[str, str] = {}
    sizes: dict[str, tuple[int, str]] = {}
    specs = {str(spec["name"]): spec for spec in signature["inputs"]}
    for name, spec in specs.items():
        fault = _fault(headers[name], spec, sizes) if name in headers else "is missing"
        if fault:
            faults[name] = fault
    for name in headers:
        if name not in specs:
            names = ", ".join(specs)
            faults[name[:100]] = f"is not an input of the network; its inputs are {names}"
    return faults


def _fault(header: ArrayHeader, spec: Mapping[str, Any], sizes: dict[str, tuple[int, str]]) -> str:
    """Why an array does not fit its input; "" if it does.

    ``sizes`` maps the name of a dimension to its size and to the first input that has it.
    """
    shape: Sequence[int | str] = spec["shape"]
    if not _has_form(header, spec["dtype"], shape):
        return f"is {header}, the network takes {spec['dtype']}[{','.join(map(str, shape))}]"
    if not header.size_bytes:
        return f"is {header}, which is empty"
    for dimension, size in zip(shape, header.shape, strict=False):
        if isinstance(dimension, str) and dimension not in {"?", _ANY_RANK}:
            first, where = sizes.setdefault(dimension, (size, str(spec["name"])))
            if first != size:
                return f"is {header}: dimension {dimension} is {first} in {where}"
    return ""


def _has_form(header: ArrayHeader, dtype: str, shape: Sequence[int | str]) -> bool:
    """Whether element type, rank and fixed dimensions are those of an input."""
    if header.dtype != dtype:
        return False
    return list(shape) == [_ANY_RANK] or (
        len(shape) == len(header.shape)
        and all(
            isinstance(dimension, str) or dimension == size
            for dimension, size in zip(shape, header.shape, strict=True)
        )
    )


def _check_contents(stream: BinaryIO, size_bytes: int) -> None:
    """Bound the table of contents before :mod:`zipfile` reads it into memory."""
    if size_bytes < _END:
        raise ValueError("it is too short")
    start = max(0, size_bytes - _END - _END_64)
    stream.seek(start)
    tail = stream.read(_END + _END_64)
    end = tail[-_END:]
    if end[:4] != b"PK\x05\x06" or end[-2:] != b"\0\0":
        raise ValueError("it is not a zip archive")
    count, length = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
    # An archive in the 64-bit format has these numbers elsewhere.
    if tail[:-_END][:4] == b"PK\x06\x07" or count > MOST_ARRAYS or length > _MOST_CONTENTS:
        raise ValueError(f"it has more than {MOST_ARRAYS} arrays, or a table of contents to match")
    stream.seek(0)


def _members(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    seen: set[str] = set()
    members = archive.infolist()
    if not members:
        raise ValueError("it contains no array")
    for member in members:
        name = member.filename
        if not name.endswith(".npy") or name in seen or not name.isprintable():
            raise ValueError(f"{name[:100]!r} is not an array with a name of its own")
        if member.compress_type not in _STORED:
            raise ValueError(f"{name[:100]!r} is compressed in another way than NumPy does")
        seen.add(name)
        yield member


def _header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[str, ArrayHeader]:
    name = member.filename.removesuffix(".npy")
    with archive.open(member) as stream:
        start = stream.read(8)
        width = 2 if start[6:7] == b"\x01" else 4
        length = int.from_bytes(stream.read(width), "little")
        if start[:6] != b"\x93NUMPY" or length > _MOST_HEADER:
            raise ValueError(f"{name[:100]!r} is not a NumPy array")
        text = stream.read(length).decode("latin1")
    header = _parse(text, name[:100])
    if member.file_size != len(start) + width + length + header.size_bytes:
        raise ValueError(f"{name[:100]!r} has another size than its header states")
    return name, header


def _parse(text: str, name: str) -> ArrayHeader:
    match = _HEADER.fullmatch(text)
    descr = _DESCR.fullmatch(match["descr"]) if match else None
    if match is None or descr is None:
        what = "Python objects, which are never unpickled" if "O'" in text else "no plain array"
        raise ValueError(f"{name!r} holds {what}")
    kind, size = descr["kind"], int(descr["size"])
    if size not in _SIZES.get(kind, (size,)):
        raise ValueError(f"{name!r} has elements of an unusual size")
    shape = tuple(int(part) for part in match["shape"].split(",") if part.strip())
    item_bytes = 4 * size if kind == "U" else size
    if kind in "US":
        dtype = "string" if kind == "U" else "bytes"
    else:
        dtype = "bool" if kind == "b" else f"{_NUMBERS[kind]}{8 * size}"
    return ArrayHeader(dtype, shape, math.prod(shape) * item_bytes)
