"""Networks for links: from ONNX, and written by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx

from registry.nodelinks.network import LinkNetwork, NetworkNode


@dataclass(frozen=True)
class PlainCall:
    """A call with what links need."""

    operator: str = ""
    names: tuple[str, ...] = ()
    span: tuple[str, str] | None = None
    outputs: tuple[str, ...] = ()
    shape: tuple[int, ...] | None = None
    converts: bool = False


def of_onnx(model: onnx.ModelProto) -> LinkNetwork:
    """A network with its names, edges and inferred shapes."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    shapes = {
        value.name: tuple(
            size.dim_value if size.HasField("dim_value") else None
            for size in value.type.tensor_type.shape.dim
        )
        for value in (*graph.value_info, *graph.output)
    }
    return LinkNetwork(
        nodes=tuple(
            NetworkNode(
                node.name,
                node.op_type,
                tuple(node.input),
                tuple(node.output),
                shapes.get(node.output[0]),
            )
            for node in graph.node
        ),
        constants=frozenset(tensor.name for tensor in graph.initializer),
        outputs=frozenset(value.name for value in graph.output),
    )


def sketch(
    rows: Sequence[tuple[str, str, str]],
    *,
    outputs: Sequence[str] = (),
    shapes: Mapping[str, tuple[int | None, ...]] | None = None,
) -> LinkNetwork:
    """A network from rows of operator, inputs and output, such as ``("Add", "a b", "c")``; nodes
    have no names. The output of the last row is that of the network."""
    known = shapes or {}
    return LinkNetwork(
        nodes=tuple(
            NetworkNode("", operator, tuple(inputs.split()), (output,), known.get(output))
            for operator, inputs, output in rows
        ),
        constants=frozenset(
            name for _, inputs, _ in rows for name in inputs.split() if name.startswith("w")
        ),
        outputs=frozenset(outputs or [rows[-1][2]]),
    )
