"""What Python pickles would import, by their opcodes. Nothing is unpickled.

The scan fails closed: what it cannot resolve, or does not reach, is a finding.
"""

import bz2
import lzma
import pickletools
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, BinaryIO

from hpcfair.formats import TENSOR_GLOBALS
from registry.weightsfiles.archives import open_archive, read_member
from registry.weightsfiles.facts import Unreadable, WeightsFacts

NAME = "Python pickle"
_ZIP = b"PK\x03\x04"
_MOST_BYTES = 8 * 2**20
#: Beginnings of compressed files, as joblib writes them, and what decompresses them.
_COMPRESSED: tuple[tuple[bytes, Callable[[], Any]], ...] = (
    *((b"\x78" + level, zlib.decompressobj) for level in (b"\x01", b"\x5e", b"\x9c", b"\xda")),
    (b"\x1f\x8b", lambda: zlib.decompressobj(16 + zlib.MAX_WBITS)),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zX", lzma.LZMADecompressor),
)
_MOST_OPCODES = 300_000
#: Files before PyTorch 1.6 are five pickles, followed by raw data.
_MOST_PICKLES = 5
_MOST_MEMBERS = 20
_MOST_IMPORTS = 20
#: What rebuilds arrays of NumPy, in addition to tensors.
_SAFE = TENSOR_GLOBALS | {
    *(f"numpy.{core}.multiarray {name}" for core in ("core", "_core")
      for name in ("_reconstruct", "scalar")),
    *("numpy.core.numeric _frombuffer", "numpy._core.numeric _frombuffer"),
    *("numpy ndarray", "numpy dtype", "_codecs encode", "builtins set", "__builtin__ set"),
}  # fmt: skip
_TEXTS = frozenset(
    {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"}
    | {"STRING", "BINSTRING", "SHORT_BINSTRING"}
)
_STORE = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_LOAD = frozenset({"GET", "BINGET", "LONG_BINGET"})
#: Opcodes that leave the stack as it is.
_NEUTRAL = frozenset({"PROTO", "FRAME"})
_HIDING = frozenset({"EXT1", "EXT2", "EXT4"})


@dataclass(slots=True)
class PickleScan:
    """Result of scans, in place."""

    imports: set[str] = field(default_factory=set)
    hiding: set[str] = field(default_factory=set)
    opcodes: int = 0
    is_complete: bool = True


def read(stream: BinaryIO, size_bytes: int) -> WeightsFacts:
    """Facts of a pickle, or of an archive of PyTorch around pickles.

    Raises:
        Unreadable: it is neither.
    """
    start = _start(stream)
    if start != _ZIP:
        scan = PickleScan()
        data = stream.read(_MOST_BYTES + 1)
        decompressor = next((make for magic, make in _COMPRESSED if start.startswith(magic)), None)
        if decompressor is not None:
            # A file that was cut off here ends too early, so the scan is not complete.
            data = _decompressed(data, decompressor())
        _scan(data, scan)
        return _facts(f"compressed {NAME}" if decompressor else NAME, [], scan)
    with open_archive(stream, size_bytes) as archive:
        names = [name for name in archive.namelist() if name.endswith((".pkl", ".pickle"))]
        if not names:
            raise Unreadable("Its archive holds no pickle.")
        scan = PickleScan(is_complete=len(names) <= _MOST_MEMBERS)
        for name in names[:_MOST_MEMBERS]:
            _scan(read_member(archive, name, _MOST_BYTES + 1), scan)
        return _facts("PyTorch archive", [("members", len(archive.namelist()))], scan)


def read_if_pickle(stream: BinaryIO, size_bytes: int) -> WeightsFacts | None:
    """Facts of a file that begins like an archive, or a pickle of protocol 2 or later."""
    start = _start(stream)
    return read(stream, size_bytes) if start == _ZIP or start[:1] == b"\x80" else None


def _start(stream: BinaryIO) -> bytes:
    start = stream.read(len(_ZIP))
    stream.seek(0)
    return start


def _decompressed(data: bytes, decompressor: Any) -> bytes:
    """The first decompressed bytes. Raises Unreadable."""
    try:
        plain: bytes = decompressor.decompress(data, _MOST_BYTES + 1)
    except (zlib.error, lzma.LZMAError, OSError, EOFError) as error:
        raise Unreadable(f"Its compression is damaged: {error}.") from error
    return plain


def _scan(data: bytes, scan: PickleScan) -> None:
    """Scan up to five pickles that follow each other. Raises Unreadable if the first is none."""
    stream = BytesIO(data)
    for number in range(_MOST_PICKLES):
        try:
            _scan_one(stream, scan)
        # What precedes the error would have been executed, and counts. pickletools also raises
        # arbitrary exceptions for damaged arguments.
        except Exception as error:
            if not scan.opcodes:
                raise Unreadable("It is not a pickle.") from error
            # Data follow the last pickle; unless what follows was cut off here.
            scan.is_complete &= number > 0 and len(data) <= _MOST_BYTES
            return
        if not scan.is_complete or stream.tell() >= len(data):
            return


def _scan_one(stream: BytesIO, scan: PickleScan) -> None:
    #: The last pushed values, where they are texts that an import may name.
    pushed: list[str | None] = [None, None]
    memo: dict[int, str | None] = {}
    for opcode, argument, _ in pickletools.genops(stream):
        scan.opcodes += 1
        if scan.opcodes > _MOST_OPCODES:
            scan.is_complete = False
            return
        name = opcode.name
        if name in _TEXTS:
            pushed.append(str(argument))
        elif name in _LOAD:
            pushed.append(memo.get(int(str(argument))))
        elif name in _STORE:
            memo[int(str(argument))] = pushed[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = pushed[-1]
        elif name not in _NEUTRAL:
            _note(name, argument, pushed[-2:], scan)
            pushed.append(None)
        del pushed[:-2]


def _note(name: str, argument: object, texts: list[str | None], scan: PickleScan) -> None:
    if name in {"GLOBAL", "INST"}:
        scan.imports.add(str(argument))
    elif name == "STACK_GLOBAL" and all(texts):
        scan.imports.add(" ".join(map(str, texts)))
    elif name == "STACK_GLOBAL" or name in _HIDING:
        scan.hiding.add(name)


def _facts(name: str, metadata: Iterable[tuple[str, object]], scan: PickleScan) -> WeightsFacts:
    unknown = sorted(scan.imports - _SAFE)
    findings = []
    if unknown:
        shown = ", ".join(text.replace(" ", ".")[:100] for text in unknown[:_MOST_IMPORTS])
        more = len(unknown) - _MOST_IMPORTS
        findings.append(
            f"Loading it imports {shown}{f' and {more} more' if more > 0 else ''}. These can run "
            "code: load it only if you trust its author."
        )
    if scan.hiding:
        findings.append(f"It hides what it imports ({', '.join(sorted(scan.hiding))}).")
    if not scan.is_complete:
        findings.append("It was not scanned to its end, so it may import more.")
    verdict = "can run code" if findings else "holds only tensors, arrays and containers"
    return WeightsFacts(
        name,
        metadata=(*((key, str(value)) for key, value in metadata), ("loading", verdict)),
        findings=tuple(findings),
    )
