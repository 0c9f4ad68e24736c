"""A model without its weights: small enough to copy, inline and infer shapes on, whatever its size.

Tensors above :data:`KEEP_BYTES` lose their bytes and keep shape and type; smaller ones are kept,
since they may be sizes, axes or indices that shape the computation. Functions are inlined, so that
a model written with functions reads as the same model written without.
"""

from collections.abc import Sequence

import onnx
from google.protobuf.message import Error as ProtobufError
from onnx import inliner, shape_inference

from workers.inspection.dtypes import STRUCTURAL
from workers.inspection.external import ExternalBytes
from workers.inspection.walk import sparse_tensors_of, tensors_of

#: Largest tensor kept: 128 sizes, more than any rank; weights of so few elements cost nothing.
KEEP_BYTES = 1024
_DATA_FIELDS = (
    "raw_data",
    "float_data",
    "int32_data",
    "string_data",
    "int64_data",
    "double_data",
    "uint64_data",
)
#: What the C++ parts of onnx raise on models they cannot handle; their own exception classes
#: derive from Exception directly and are not all public.
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

    Takes the weights out of ``model`` itself, so as never to hold them twice. They are freed when
    the caller lets go of ``model`` and ``external``: a message gives back memory only as a whole.
    """
    for found in external:
        tensor = found.tensor
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        tensor.raw_data = found.read() if found.length <= KEEP_BYTES else b""
    for tensor in tensors_of(model):
        if sum(_held_bytes(tensor, name) for name in _DATA_FIELDS) > KEEP_BYTES:
            for name in _DATA_FIELDS:
                tensor.ClearField(name)
            tensor.raw_data = b""
    small: onnx.ModelProto = onnx.ModelProto.FromString(model.SerializeToString())
    return small


def checkable(model: onnx.ModelProto) -> tuple[onnx.ModelProto, bool]:
    """A copy of a skeleton that onnx's checker takes, and whether ranks had to be made up for it.

    Tensors that lost their bytes get no elements, since the checker compares the two. It also
    insists that inputs and outputs have a rank; ONNX Runtime does not mind, nor do we.
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
    """``model`` with every function call replaced by the function's nodes.

    Returns:
        ``None`` if a function was written for other operator sets than the model.
    """
    if not model.functions:
        return model
    try:
        flat: onnx.ModelProto = inliner.inline_local_functions(model)
    except OnnxFailure:
        return None
    return None if flat.functions else flat


def _held_bytes(tensor: onnx.TensorProto, name: str) -> int:
    """About how many bytes the field ``name`` of ``tensor`` takes."""
    value = getattr(tensor, name)
    if name == "raw_data":
        return len(value)
    if name == "string_data":
        return sum(map(len, value))
    return 4 * len(value) if tensor.data_type not in STRUCTURAL else 8 * len(value)
