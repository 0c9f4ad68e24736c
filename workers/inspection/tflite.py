"""Reads the signature of a ``.tflite`` file: a FlatBuffers file with identifier ``TFL3``. Field
numbers and codes are those of TensorFlow Lite's schema, ``schema.fbs``, version 3."""

from dataclasses import dataclass
from pathlib import Path

from hpcfair.formats import TFLITE
from workers.engine.types import TensorSpec
from workers.inspection.flatbuffer import Malformed, Table
from workers.inspection.interface import Interface, Unusable

#: Maximum file size: offsets are signed 32-bit numbers.
MAX_BYTES = 2**31 - 1
MAX_TENSORS = 100_000
_MAX_SIDE = 4096
_MAX_RANK = 16
_CUSTOM = 32
#: Element types that NumPy supports, by code.
_DTYPES = {
    0: "float32", 1: "float16", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16",
    9: "int8", 10: "float64", 12: "uint64", 15: "uint32", 16: "uint16",
}  # fmt: skip
_QUANTISED = frozenset({"int8", "uint8", "int16"})


@dataclass(frozen=True, slots=True)
class TfliteNetwork:
    """Tables of a file, parts of its main graph; ``constants``: bytes per tensor, 0 if computed."""

    model: Table
    main: Table
    tensors: list[Table]
    constants: list[int]
    interface: Interface


def read_tflite(path: Path) -> Interface:
    """Inputs and outputs of a TensorFlow Lite network; quantised ones count as ``float32``. Raises
    Unusable if it is another kind of file, damaged, or needs custom operators."""
    return open_tflite(path).interface


def open_tflite(path: Path) -> TfliteNetwork:
    """Parse a TensorFlow Lite file. Raises Unusable as :func:`read_tflite`."""
    if path.stat().st_size > MAX_BYTES:
        raise Unusable("it is larger than a FlatBuffers file can be")
    data = path.read_bytes()
    if not TFLITE.begins(data):
        raise Unusable("it is not a TensorFlow Lite file")
    try:
        return _read(Table.root(data))
    except Malformed as error:
        raise Unusable(f"it is damaged: {error}") from error


def _read(model: Table) -> TfliteNetwork:
    for code in model.tables(1):
        if operator_code(code) == _CUSTOM:
            raise Unusable(f"it needs the custom operator {code.text(1)!r}")
    main = next(model.tables(2), None)
    if main is None:
        raise Unusable("it has no graph")
    tensors = list(main.tables(0))
    if len(tensors) > MAX_TENSORS:
        raise Unusable(f"it has more than {MAX_TENSORS:,} tensors")
    inputs, outputs = (_side(tensors, main.numbers(field, "i")) for field in (1, 2))
    sizes = [_held(buffer) for buffer in model.tables(4)]
    places = [tensor.scalar(2, "I") for tensor in tensors]
    constants = [sizes[place] if place < len(sizes) else 0 for place in places]
    return TfliteNetwork(model, main, tensors, constants, Interface(inputs, outputs))


def operator_code(code: Table) -> int:
    """Number of an operator. A newer field holds numbers above 127; old files set the older one."""
    return max(code.scalar(0, "b"), code.scalar(3, "i"))


def dtype_of(tensor: Table) -> str:
    """Element type as stored. Raises Unusable if NumPy does not support the type."""
    code = tensor.scalar(1, "b")
    if code not in _DTYPES:
        raise Unusable(f"{tensor.text(3)} has an element type that NumPy does not have")
    return _DTYPES[code]


def is_quantised(tensor: Table) -> bool:
    """Whether a tensor is quantised: its integers represent real numbers."""
    quantisation = tensor.table(4)
    return quantisation is not None and quantisation.size(2) > 0


def _held(buffer: Table) -> int:
    if size := buffer.size(0):
        return size
    # Files above 2 GiB store values after the tables; these fields give offset and size.
    offset, size = buffer.scalar(1, "Q"), buffer.scalar(2, "Q")
    if offset + size > len(buffer.data):
        raise Malformed("its values would lie beyond its end")
    return size


def _side(tensors: list[Table], indices: tuple[int, ...]) -> tuple[TensorSpec, ...]:
    if len(indices) > _MAX_SIDE or any(not 0 <= i < len(tensors) for i in indices):
        raise Malformed("it names tensors that it does not have")
    return tuple(_spec(tensors[index]) for index in indices)


def _spec(tensor: Table) -> TensorSpec:
    name = tensor.text(3)
    if not name.isprintable():
        raise Malformed("a name holds control characters")
    dtype = dtype_of(tensor)
    if dtype in _QUANTISED and is_quantised(tensor):
        dtype = "float32"
    shape, open_shape = tensor.numbers(0, "i"), tensor.numbers(7, "i")
    if len(shape) > _MAX_RANK:
        raise Malformed("a tensor has too many dimensions")
    return TensorSpec(
        name, dtype, tuple(size if size >= 0 else "?" for size in open_shape or shape)
    )
