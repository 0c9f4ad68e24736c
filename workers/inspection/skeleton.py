"""Models without their weights, small enough to be copied, inlined and used for shape inference.

Tensors above :data:`KEEP_BYTES` lose their bytes but keep shape and type. Smaller ones are kept,
because they may be sizes, axes or indices. Functions are inlined, so that a model with functions
equals the same model without.
"""

from collections.abc import Sequence

import onnx
from google.protobuf.message import Error as ProtobufError
from onnx import inliner, shape_inference

from workers.inspection.dtypes import STRUCTURAL
from workers.inspection.external import ExternalBytes
from workers.inspection.walk import sparse_tensors_of, tensors_of

#: Largest tensor that is kept: 128 sizes, more than any rank.
KEEP_BYTES = 1024
_DATA_FIELDS = (
    "raw_data", "float_data", "int32_data", "string_data", "int64_data", "double_data",
    "uint64_data",
)  # fmt: skip
#: Errors of onnx's C++ code. Its exception classes derive from Exception and are not all public.
OnnxFailure = (
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    KeyError,
    ProtobufError,
    shape_inference.InferenceError,
    onnx.checker.ValidationError,
    onnx.defs.SchemaError,
)


def skeleton(model: onnx.ModelProto, external: Sequence[ExternalBytes]) -> onnx.ModelProto:
    """``model`` without its weights, but with its small external tensors.

    The weights are removed from ``model`` itself, so that they are never held twice, and freed once
    ``model`` and ``external`` are released.
    """
    for tensor_bytes in external:
        tensor = tensor_bytes.tensor
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        tensor.raw_data = tensor_bytes.read() if tensor_bytes.length <= KEEP_BYTES else b""
    for tensor in tensors_of(model):
        if sum(_held_bytes(tensor, name) for name in _DATA_FIELDS) > KEEP_BYTES:
            for name in _DATA_FIELDS:
                tensor.ClearField(name)
            tensor.raw_data = b""
    small: onnx.ModelProto = onnx.ModelProto.FromString(model.SerializeToString())
    return small


def checkable(model: onnx.ModelProto) -> tuple[onnx.ModelProto, bool]:
    """A copy of a skeleton that onnx's checker accepts, and whether ranks had to be invented.

    Tensors without bytes get no elements, because the checker compares the two. It also requires
    ranks of inputs and outputs, which ONNX Runtime does not.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in tensors_of(copy):
        if tensor.HasField("raw_data") and not tensor.raw_data:
            tensor.dims[:] = [0]
    for sparse in sparse_tensors_of(copy):
        if [0] in (sparse.values.dims, sparse.indices.dims):
            sparse.values.dims[:] = sparse.indices.dims[:] = [0]
            for name in _DATA_FIELDS:
                sparse.values.ClearField(name)
                sparse.indices.ClearField(name)
    made_up = False
    for value in (*copy.graph.input, *copy.graph.output):
        if value.type.WhichOneof("value") == "tensor_type":
            made_up |= not value.type.tensor_type.HasField("shape")
            value.type.tensor_type.shape.SetInParent()
    return copy, made_up


def inlined(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """``model`` with inlined functions; ``None`` if one requires other operator sets."""
    if not model.functions:
        return model
    try:
        flat: onnx.ModelProto = inliner.inline_local_functions(model)
    except OnnxFailure:
        return None
    return None if flat.functions else flat


def _held_bytes(tensor: onnx.TensorProto, name: str) -> int:
    value = getattr(tensor, name)
    if name == "raw_data":
        return len(value)
    if name == "string_data":
        return sum(map(len, value))
    return 4 * len(value) if tensor.data_type not in STRUCTURAL else 8 * len(value)
