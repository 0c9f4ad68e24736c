"""Reads the signature of a ``.tflite`` file: a FlatBuffers file with identifier ``TFL3``.

Field numbers and codes are those of TensorFlow Lite's schema, ``schema.fbs``, version 3.
"""

from pathlib import Path

from workers.engine.types import TensorSpec
from workers.inspection.flatbuffer import Malformed, Table
from workers.inspection.interface import Interface, Unusable

#: Offsets are signed 32-bit numbers.
MAX_BYTES = 2**31 - 1
MAX_TENSORS = 100_000
_MAX_SIDE = 4096
_MAX_RANK = 16
_CUSTOM = 32
#: Element types with a NumPy type of the same name, by code; the rest cannot cross.
_DTYPES = {
    0: "float32", 1: "float16", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16",
    9: "int8", 10: "float64", 12: "uint64", 15: "uint32", 16: "uint16",
}  # fmt: skip
_QUANTISED = frozenset({"int8", "uint8", "int16"})


def read_tflite(path: Path) -> Interface:
    """Inputs and outputs of a TensorFlow Lite network.

    Quantised inputs and outputs count as ``float32``: the runtime converts on the way.

    Raises:
        Unusable: it is no such file, it is damaged, or it needs operators of somebody's own.
    """
    if path.stat().st_size > MAX_BYTES:
        raise Unusable("it is larger than a FlatBuffers file can be")
    data = path.read_bytes()
    if data[4:8] != b"TFL3":
        raise Unusable("it is not a TensorFlow Lite file")
    try:
        return _read(Table.root(data))
    except Malformed as error:
        raise Unusable(f"it is damaged: {error}") from error


def _read(model: Table) -> Interface:
    for code in model.tables(1):
        # The newer field holds codes above 127; files of old fill only the older one.
        if max(code.scalar(0, "b"), code.scalar(3, "i")) == _CUSTOM:
            raise Unusable(f"it needs the custom operator {code.text(1)!r}")
    main = next(model.tables(2), None)
    if main is None:
        raise Unusable("it has no graph")
    tensors = list(main.tables(0))
    if len(tensors) > MAX_TENSORS:
        raise Unusable(f"it has more than {MAX_TENSORS:,} tensors")
    inputs, outputs = (_side(tensors, main.numbers(field, "i")) for field in (1, 2))
    return Interface(inputs, outputs)


def _side(tensors: list[Table], indices: tuple[int, ...]) -> tuple[TensorSpec, ...]:
    if len(indices) > _MAX_SIDE or any(not 0 <= i < len(tensors) for i in indices):
        raise Malformed("it names tensors that it does not have")
    return tuple(_spec(tensors[index]) for index in indices)


def _spec(tensor: Table) -> TensorSpec:
    name = tensor.text(3)
    if not name.isprintable():
        raise Malformed("a name holds control characters")
    code = tensor.scalar(1, "b")
    if code not in _DTYPES:
        raise Unusable(f"{name} has an element type that NumPy does not have")
    dtype = _DTYPES[code]
    quantisation = tensor.table(4)
    if dtype in _QUANTISED and quantisation is not None and quantisation.size(2):
        dtype = "float32"
    shape, open_shape = tensor.numbers(0, "i"), tensor.numbers(7, "i")
    if len(shape) > _MAX_RANK:
        raise Malformed("a tensor has too many dimensions")
    return TensorSpec(
        name, dtype, tuple(size if size >= 0 else "?" for size in open_shape or shape)
    )
