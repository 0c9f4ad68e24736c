"""Test tensors of a revision: ``samples.npz``, a zip archive of NumPy arrays.

Arrays are named ``inputs/<tensor>``, ``outputs/<tensor>`` and ``labels``; their first axis counts
samples. Only headers are parsed. The data are read once in small pieces, so that the archive's
checksums reveal truncation and flipped bits without using memory.
"""

import ast
import math
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from hpcfair.samplefit import misfits
from workers.inspection.errors import InspectionError, printable

NAME = "samples.npz"
MAX_ARRAYS = 1024
#: Limit on the uncompressed size; checks use far less.
MAX_BYTES = 4 * 2**30
_PIECE = 2**20
_MAX_HEADER = 10_000
#: Element types in the notation of the format: booleans, numbers, text, raw bytes (bfloat16).
_KIND = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|c8|c16|[SUV][1-9][0-9]{0,3})")
_HINT = "Write it with numpy.savez, with numeric arrays inputs/<tensor>, outputs/<tensor>, labels."


@dataclass(frozen=True, slots=True)
class SampleFacts:
    """Facts of the samples.

    Attributes:
        arrays: Name to ``{"dtype", "shape"}``.
        labels: Whether there are labels, so that accuracy can be measured.
        outputs: Whether there are expected outputs from the publisher.
        problems: Mismatches with the signature; empty if the samples match.
    """

    path: str
    arrays: dict[str, dict[str, Any]]
    count: int
    labels: bool
    outputs: bool
    problems: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "fits": not self.problems}


def read_samples(path: Path, signature: Mapping[str, Any]) -> SampleFacts:
    """Read the facts of the archive at ``path`` and compare them with ``signature``. Raises
    InspectionError: ``samples_unreadable``."""
    try:
        arrays = _headers(path)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise _unreadable(str(error)) from error
    rows = {shape[0] if shape else 0 for _, shape in arrays.values()}
    problems = misfits(arrays, signature)
    if len(rows) > 1:
        problems.append(f"arrays have different numbers of samples: {sorted(rows)}")
    return SampleFacts(
        path=NAME,
        arrays={
            name: {"dtype": dtype, "shape": list(shape)} for name, (dtype, shape) in arrays.items()
        },
        count=min(rows, default=0),
        labels="labels" in arrays,
        outputs=any(name.startswith("outputs/") for name in arrays),
        problems=[printable(problem) for problem in problems],
    )


def _headers(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    headers: dict[str, tuple[str, tuple[int, ...]]] = {}
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > MAX_ARRAYS or sum(m.file_size for m in members) > MAX_BYTES:
            raise ValueError(f"more than {MAX_ARRAYS} arrays or {MAX_BYTES >> 30} GiB")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name == member.filename or name in headers or not name.isprintable():
                raise ValueError(f"{member.filename!r} is not an array with a name of its own")
            with archive.open(member) as stream:
                headers[name] = _read_array(stream, name)
    return headers


def _read_array(stream: IO[bytes], name: str) -> tuple[str, tuple[int, ...]]:
    dtype, shape = _read_header(stream, name)
    # Read to the end, where the archive verifies its checksum.
    held = sum(len(piece) for piece in iter(lambda: stream.read(_PIECE), b""))
    if held != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{name!r} has another size than its header says")
    return dtype.name, shape


def _read_header(stream: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Type and shape of an NPY header, versions 1 to 3; NumPy's reader raises arbitrary errors."""
    start = stream.read(8)
    width = 2 if start[6:7] == b"\x01" else 4
    length = int.from_bytes(stream.read(width), "little")
    if start[:6] != b"\x93NUMPY" or length > _MAX_HEADER:
        raise ValueError(f"{name!r} is not a NumPy array")
    text = stream.read(length).decode("latin1")
    try:
        header = ast.literal_eval(text.strip())
        kind, shape = header["descr"], header["shape"]
        numeric = isinstance(kind, str) and _KIND.fullmatch(kind) is not None
        counted = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
        if numeric and counted:
            return np.dtype(kind), shape
    except (SyntaxError, ValueError, TypeError, KeyError, MemoryError, RecursionError) as error:
        raise ValueError(f"{name!r} has a malformed header") from error
    if kind == "|O":
        raise ValueError(f"{name!r} holds Python objects, which are never unpickled here")
    raise ValueError(f"{name!r} is no plain array of numbers or text")


def _unreadable(what: str) -> InspectionError:
    return InspectionError("samples_unreadable", f"{NAME}: {printable(what)}.", _HINT)
