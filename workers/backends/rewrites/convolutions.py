"""Computes convolutions with fewer multiplications, where that is faster: images by Winograd's
algorithm, sequences by Fourier transforms."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol

import onnx

from workers.backends.rewrites.fourier import fourier_plan
from workers.backends.rewrites.graph import EditableGraph
from workers.backends.rewrites.winograd import winograd_plan

#: The first opset whose ``Split``, ``Pad`` and ``Slice`` take sizes as inputs.
_LOWEST_OPSET = 13


class ConvolutionPlan(Protocol):
    """How a convolution is rewritten."""

    @property
    def added_bytes(self) -> int:
        """Bytes by which its weights grow."""

    def nodes(self, graph: EditableGraph, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """The nodes that compute the result of ``node``."""


_Planner = Callable[[EditableGraph, onnx.NodeProto], ConvolutionPlan | None]
#: By name, as builds' provenance counts them. A convolution suits one of them at most.
_PLANNERS: Mapping[str, _Planner] = {"winograd": winograd_plan, "fourier": fourier_plan}


def reduce_multiplications(graph: EditableGraph, most_bytes: int) -> dict[str, int]:
    """Rewrite the convolutions that become faster, in the order of the graph, as long as all
    weights together grow by at most ``most_bytes``; returns their number by algorithm."""
    counts: Counter[str] = Counter()
    if graph.opset < _LOWEST_OPSET:
        return counts
    for node in [node for node in graph.nodes if node.op_type == "Conv"]:
        for name, planner in _PLANNERS.items():
            plan = planner(graph, node)
            if plan is not None and plan.added_bytes <= most_bytes:
                most_bytes -= plan.added_bytes
                graph.replace([node], plan.nodes(graph, node))
                counts[name] += 1
    return counts
