"""Prepares programs of torch.export for the exporter to ONNX."""

from typing import Any

import torch

#: Paths of files of this machine.
_TRACES = ("stack_trace", "custom")


def prepare(program: torch.export.ExportedProgram) -> None:
    """Remove traces, and write operators that the exporter mistakes by others, in place."""
    for node in list(program.graph.nodes):
        for trace in _TRACES:
            node.meta.pop(trace, None)
        if node.target is torch.ops.aten.rsub.Scalar and len(node.args) == 2:
            _negate_and_add(program.graph, node)
    program.graph_module.recompile()


def _negate_and_add(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """Write ``number - tensor`` as ``-tensor + number``.

    The exporter finds no operator for a number less a tensor of integers.
    """
    tensor, number = node.args
    assert isinstance(tensor, torch.fx.Node)  # noqa: S101  by the operator's signature
    value: Any = tensor.meta["val"]
    with graph.inserting_before(node):
        negative = graph.call_function(torch.ops.aten.neg.default, (tensor,))
        negative.meta["val"] = torch.neg(value)
        total = graph.call_function(torch.ops.aten.add.Tensor, (negative, number))
        total.meta = dict(node.meta)
    node.replace_all_uses_with(total)
    graph.erase_node(node)
