"""Safety checks on the raw protobuf message, before any library processes the model.

* Every tensor has the bytes that its shape requires, so that no memory is allocated for a false
  claim.
* External data has a permitted location (:mod:`workers.inspection.external`).
* Names are text without control characters, since they appear in pages, logs and a database.
* A ``Split`` has as many outputs as it declares, because onnx allocates by the declaration.
* Functions are not recursive and do not expand to an excessive number of nodes.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import TensorProto

from workers.inspection.dtypes import NAMES, bytes_of
from workers.inspection.errors import invalid
from workers.inspection.external import ExternalBytes, locate
from workers.inspection.walk import all_nodes, graphs_of, nodes_of, tensors_of

MAX_RANK = 64
MAX_ELEMENTS = 2**56
MAX_INTERFACE = 4096
MAX_EXPANDED_NODES = 500_000
MAX_CALL_DEPTH = 64
#: Element type to its field, and how many entries store how many elements.
_TYPED_FIELDS: dict[int, tuple[str, int, int]] = {
    TensorProto.FLOAT: ("float_data", 1, 1),
    TensorProto.COMPLEX64: ("float_data", 2, 1),
    TensorProto.DOUBLE: ("double_data", 1, 1),
    TensorProto.COMPLEX128: ("double_data", 2, 1),
    TensorProto.INT64: ("int64_data", 1, 1),
    TensorProto.UINT32: ("uint64_data", 1, 1),
    TensorProto.UINT64: ("uint64_data", 1, 1),
    TensorProto.INT4: ("int32_data", 1, 2),
    TensorProto.UINT4: ("int32_data", 1, 2),
    TensorProto.FLOAT4E2M1: ("int32_data", 1, 2),
    TensorProto.INT2: ("int32_data", 1, 4),
    TensorProto.UINT2: ("int32_data", 1, 4),
}


def check(model: onnx.ModelProto, path: Path, shown: str) -> list[ExternalBytes]:
    """Check ``model``, read from ``path`` and named ``shown`` in errors; locate its external bytes.

    Raises InspectionError: ``onnx_invalid``, ``external_data_escapes`` or
    ``external_data_missing``.
    """
    _check_names(model, shown)
    _check_functions(model, shown)
    _check_splits(model, shown)
    external: list[ExternalBytes] = []
    for tensor in tensors_of(model):
        elements = _check_shape(tensor, shown)
        if tensor.data_location == TensorProto.EXTERNAL:
            external.append(locate(tensor, elements, path.parent, shown))
        else:
            _check_inline(tensor, elements, shown)
    return external


def _check_names(model: onnx.ModelProto, shown: str) -> None:
    for name in _names(model):
        # protobuf returns a name that is not UTF-8 as bytes.
        if not isinstance(name, str) or not name.isprintable():
            raise invalid(shown, f"the name {name!r} holds control characters or is not UTF-8.")
    for side, values in (("inputs", model.graph.input), ("outputs", model.graph.output)):
        if len(values) > MAX_INTERFACE:
            raise invalid(shown, f"it has {len(values):,} {side}, more than {MAX_INTERFACE:,}.")


def _names(model: onnx.ModelProto) -> Iterator[object]:
    yield from (opset.domain for opset in model.opset_import)
    for graph in graphs_of(model):
        for value in (*graph.input, *graph.output, *graph.value_info):
            yield value.name
            yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)
        yield from (tensor.name for tensor in graph.initializer)
        yield from (sparse.values.name for sparse in graph.sparse_initializer)
    for node in all_nodes(model):
        yield from (node.op_type, node.domain, node.overload, *node.input, *node.output)
        for attribute in node.attribute:
            yield attribute.name
            yield attribute.ref_attr_name
    for function in model.functions:
        yield from (function.name, function.domain, function.overload)
        yield from (*function.input, *function.output, *function.attribute)
        yield from (opset.domain for opset in function.opset_import)


def _check_splits(model: onnx.ModelProto, shown: str) -> None:
    for node in all_nodes(model):
        for attribute in node.attribute:
            if attribute.name == "num_outputs" and attribute.i > len(node.output):
                raise invalid(
                    shown,
                    f"a {node.op_type} claims {attribute.i:,} outputs, not {len(node.output)}.",
                )


def _check_functions(model: onnx.ModelProto, shown: str) -> None:
    """Reject recursion and exponential expansion before functions are inlined."""
    bodies = {
        (function.domain, function.name, function.overload): list(nodes_of(list(function.node)))
        for function in model.functions
    }
    if not bodies:
        return
    size: dict[tuple[str, str, str], tuple[int, int]] = {}
    open_calls: set[tuple[str, str, str]] = set()
    stack = [(key, False) for key in bodies]
    while stack:
        key, ready = stack.pop()
        called = [k for node in bodies[key] if (k := _key(node)) in bodies]
        if ready:
            open_calls.discard(key)
            total = len(bodies[key]) + sum(size[k][0] for k in called)
            depth = 1 + max((size[k][1] for k in called), default=0)
            size[key] = (min(total, MAX_EXPANDED_NODES + 1), depth)
        elif key not in size:
            if key in open_calls:
                raise invalid(shown, f"the function {key[1]!r} calls itself.")
            open_calls.add(key)
            stack.append((key, True))
            stack += [(k, False) for k in set(called) if k not in size]
    used = [size[k] for graph in graphs_of(model) for n in graph.node if (k := _key(n)) in size]
    if sum(total for total, _ in used) > MAX_EXPANDED_NODES:
        raise invalid(shown, f"its functions expand to more than {MAX_EXPANDED_NODES:,} nodes.")
    if max((depth for _, depth in size.values()), default=0) > MAX_CALL_DEPTH:
        raise invalid(shown, f"its functions call each other more than {MAX_CALL_DEPTH} deep.")


def _key(node: onnx.NodeProto) -> tuple[str, str, str]:
    return (node.domain, node.op_type, node.overload)


def _check_shape(tensor: TensorProto, shown: str) -> int:
    if tensor.data_type not in NAMES:
        raise invalid(shown, f"the tensor {tensor.name!r} has no known element type.")
    if len(tensor.dims) > MAX_RANK or any(size < 0 for size in tensor.dims):
        raise invalid(shown, f"the tensor {tensor.name!r} has no possible shape.")
    elements: int = math.prod(tensor.dims)
    if elements > MAX_ELEMENTS:
        raise invalid(shown, f"the tensor {tensor.name!r} would have {elements:,} elements.")
    return elements


def _check_inline(tensor: TensorProto, elements: int, shown: str) -> None:
    needed = bytes_of(tensor.data_type, elements)
    if needed is None:
        held, needed = len(tensor.string_data), elements
    elif tensor.HasField("raw_data"):
        held = len(tensor.raw_data)
    else:
        held, needed = _typed_elements(tensor, elements)
    if held != needed:
        raise invalid(
            shown, f"the tensor {tensor.name!r} holds {held:,} values or bytes, not {needed:,}."
        )


def _typed_elements(tensor: TensorProto, elements: int) -> tuple[int, int]:
    """Entries present and required in the typed field of ``tensor`` (onnx.proto, TensorProto)."""
    holder, entries, per = _TYPED_FIELDS.get(tensor.data_type, ("int32_data", 1, 1))
    return len(getattr(tensor, holder)), -(-elements * entries // per)
