"""Element types: their names as NumPy and the tensor signature spell them, and their sizes."""

from onnx import TensorProto, helper

_PACKED_BITS: dict[int, int] = {
    TensorProto.UINT4: 4,
    TensorProto.INT4: 4,
    TensorProto.FLOAT4E2M1: 4,
    TensorProto.UINT2: 2,
    TensorProto.INT2: 2,
    TensorProto.FLOAT6E2M3: 6,
    TensorProto.FLOAT6E3M2: 6,
}

#: Element type to its name; ``undefined`` is not among them.
NAMES: dict[int, str] = {
    number: "string"
    if number == TensorProto.STRING
    else helper.tensor_dtype_to_np_dtype(number).name
    for number in TensorProto.DataType.values()
    if number != TensorProto.UNDEFINED
}

_BITS: dict[int, int] = {
    number: _PACKED_BITS.get(number, 8 * helper.tensor_dtype_to_np_dtype(number).itemsize)
    for number in NAMES
    if number != TensorProto.STRING
}

#: Types that never hold weights: sizes, indices, booleans, text.
STRUCTURAL = frozenset({TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING})


def name_of(number: int) -> str:
    """Name of an element type; ``undefined`` for a number that ONNX does not define."""
    return NAMES.get(number, "undefined")


def bytes_of(number: int, elements: int) -> int | None:
    """Bytes of ``elements`` packed elements of a type; ``None`` for strings and unknown types."""
    bits = _BITS.get(number)
    return None if bits is None else (elements * bits + 7) // 8
