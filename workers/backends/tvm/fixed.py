"""Fixes the sizes of a network's inputs, and computes what depends on sizes only.

Exporters compute masks and positions of attention from the sizes of the inputs, by operators that
TVM's importer takes for constant shapes only. With fixed sizes nothing of them is left.
"""

from collections.abc import Iterator, Mapping, Sequence

import onnx

from workers.backends.normalform.annotations import clear_annotations
from workers.backends.normalform.constants import fold_constants
from workers.engine.types import TensorSpec

_READS_SIZES = frozenset({"Shape", "Size"})


def with_fixed_sizes(
    model: onnx.ModelProto, inputs: Sequence[TensorSpec], sizes: Mapping[str, int]
) -> onnx.ModelProto:
    """The model for ``inputs`` with ``sizes`` in place of named dimensions, without the nodes whose
    outputs are constant then. The others stay as they are, because calls are linked to nodes. The
    same model if the optimiser fails."""
    shapes = {spec.name: spec.shape for spec in inputs}
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    clear_annotations(fixed)
    for value in fixed.graph.input:
        dims = value.type.tensor_type.shape.dim
        for dim, size in zip(dims, shapes.get(value.name, ()), strict=False):
            dim.dim_value = sizes[size] if isinstance(size, str) else size
    for value in fixed.graph.output:
        value.type.tensor_type.ClearField("shape")
    if not _has_foldable(fixed):
        return fixed
    try:
        folded = fold_constants(fixed).graph
        constants = dict(_constants(folded))
    # Inference and optimiser run on an untrusted file and raise anything.
    except Exception:  # noqa: BLE001
        return model
    _replace(fixed.graph, _renamed(fixed.graph, folded, constants) | constants)
    return fixed


def _has_foldable(model: onnx.ModelProto) -> bool:
    """Whether a node may be constant: one that reads sizes, or constants only. Branches and
    functions may contain some. The optimiser tries its rules on every node, which takes longer
    than TVM's import."""
    constants = {name for name, _ in _constants(model.graph)} | {""}
    return bool(model.functions) or any(
        node.op_type in _READS_SIZES
        or (node.op_type != "Constant" and constants.issuperset(node.input))
        or any(each.HasField("g") or each.graphs for each in node.attribute)
        for node in model.graph.node
    )


def _constants(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Constant tensors by name."""
    for tensor in graph.initializer:
        yield tensor.name, tensor
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            yield node.output[0], node.attribute[0].t


def _renamed(
    graph: onnx.GraphProto, folded: onnx.GraphProto, constants: Mapping[str, onnx.TensorProto]
) -> dict[str, onnx.TensorProto]:
    """Constants of the folded graph by the names of the values that they replace, because the
    optimiser keeps one name of equal constants. Nodes that read the same otherwise show them."""
    readers = {node.output[0]: node for node in folded.node}
    renamed: dict[str, onnx.TensorProto] = {}
    for node in graph.node:
        other = readers.get(node.output[0])
        if other is None or other.op_type != node.op_type or len(other.input) != len(node.input):
            continue
        pairs = [(old, new) for old, new in zip(node.input, other.input, strict=True) if old != new]
        if all(new in constants for _, new in pairs):
            renamed |= {old: constants[new] for old, new in pairs}
    return renamed


def _replace(graph: onnx.GraphProto, constants: Mapping[str, onnx.TensorProto]) -> None:
    """Remove nodes whose outputs are ``constants`` or not used."""
    used = {value.name for value in graph.output}
    remaining = []
    for node in reversed(graph.node):
        needed = [name for name in node.output if name in used]
        if needed and not all(name in constants for name in needed):
            remaining.append(node)
            used |= _names(node)
            continue
        for name in needed:
            graph.initializer.add().CopyFrom(constants[name])
            graph.initializer[-1].name = name
    del graph.node[:]
    graph.node.extend(reversed(remaining))


def _names(node: onnx.NodeProto) -> set[str]:
    """Values that a node reads, in its branches too."""
    names = set(node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            names.update(value.name for value in graph.output)
            for inner in graph.node:
                names |= _names(inner)
    return names
