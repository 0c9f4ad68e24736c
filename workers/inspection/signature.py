"""Tensor signature of a model: its inputs and outputs, in the order of the file.

``{"inputs": [{"name", "dtype", "shape"}], "outputs": [...]}``, where a dimension is an integer or a
name. Equal names mean equal sizes. Dynamic dimensions without a name, or with one that an exporter
made up, get names of their own (:mod:`hpcfair.dimensions`). A tensor of unknown rank has
the single dimension ``...``; sequences and maps have a compound dtype and no dimensions.
"""

from typing import Any

import onnx
from onnx import TypeProto, ValueInfoProto

from hpcfair.dimensions import UNKNOWN_RANK, with_short_names
from workers.inspection.dtypes import name_of
from workers.inspection.shapes import with_shapes


def signature(model: onnx.ModelProto) -> dict[str, Any]:
    """Signature of ``model``, without initialized inputs; missing output shapes are inferred."""
    graph = model.graph
    stored = {tensor.name for tensor in graph.initializer}
    stored |= {sparse.values.name for sparse in graph.sparse_initializer}
    outputs = graph.output
    if any(_is_open(value) for value in outputs):
        outputs = with_shapes(model, dynamic=None).graph.output
    stated = {
        "inputs": [_tensor(v) for v in graph.input if v.name not in stored],
        "outputs": [_tensor(v) for v in outputs],
    }
    return with_short_names(stated)


def _tensor(value: ValueInfoProto) -> dict[str, Any]:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return {"name": value.name, "dtype": compound_type(value.type), "shape": []}
    tensor = value.type.tensor_type
    shape: list[int | str] = [UNKNOWN_RANK]
    if tensor.HasField("shape"):
        # Old exporters wrote -1 for a dynamic dimension.
        shape = [
            dim.dim_value
            if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0
            else dim.dim_param or "?"
            for dim in tensor.shape.dim
        ]
    return {"name": value.name, "dtype": name_of(tensor.elem_type), "shape": shape}


def compound_type(kind: TypeProto) -> str:
    """``sequence(float32)``, ``map(int64,float32)``, ``optional(...)``, ``sparse(float32)``."""
    match kind.WhichOneof("value"):
        case "tensor_type":
            return name_of(kind.tensor_type.elem_type)
        case "sparse_tensor_type":
            return f"sparse({name_of(kind.sparse_tensor_type.elem_type)})"
        case "sequence_type":
            return f"sequence({compound_type(kind.sequence_type.elem_type)})"
        case "optional_type":
            return f"optional({compound_type(kind.optional_type.elem_type)})"
        case "map_type":
            key = name_of(kind.map_type.key_type)
            return f"map({key},{compound_type(kind.map_type.value_type)})"
        case _:
            return "unknown"


def _is_open(value: ValueInfoProto) -> bool:
    """Whether inference could add to what the file declares of ``value``."""
    if value.type.WhichOneof("value") not in {"tensor_type", None}:
        return False
    tensor = value.type.tensor_type
    return not tensor.HasField("shape") or any(
        dim.WhichOneof("value") is None or (not dim.dim_param and dim.dim_value < 0)
        for dim in tensor.shape.dim
    )
