"""Matches nodes of an exported program with tensors of the published graph, by their values.

The program and the ONNX graph are two files of one network without common names. Both are run on
the same inputs; a node of the program matches a tensor of the graph if their values are equal.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from hpcfair.runtimes.quiet_onnxruntime import ort
from hpcfair.runtimes.tensors import MappedTensor
from workers.engine.ports import Array

#: Largest difference between matching tensors, relative to the largest element.
_CLOSE = {"float32": 1e-4, "bfloat16": 3e-2}


def tensors_of_nodes(
    exported: Any,
    names: Collection[str],
    graph: Path,
    inputs: Mapping[str, Array],
    mapped: Sequence[MappedTensor],
    precision: str,
) -> dict[str, str]:
    """Tensors of the ONNX file ``graph`` by the node of the program with the same values.

    Args:
        names: Nodes of the program to match.
        inputs: Inputs of the graph by name; ``mapped`` gives their positions in the program.
        precision: Precision of the program.
    """
    arguments: list[Any] = [None] * len(mapped)
    for each in mapped:
        arguments[each.index] = torch.from_numpy(each.to_file(inputs[each.tensor.name]).copy())
    recorder = _Recorder(exported.module(check_guards=False), names)
    with torch.no_grad():
        recorder.run(*arguments)
    tensors = _values(graph, inputs)
    by_shape: dict[tuple[int, ...], list[str]] = {}
    for name, value in tensors.items():
        by_shape.setdefault(value.shape, []).append(name)
    matches: dict[str, str] = {}
    for name, value in recorder.values.items():
        # Both files list nodes in execution order, so equal tensors are matched in order.
        for candidate in by_shape.get(value.shape, []):
            if _equal(value, tensors[candidate], _CLOSE[precision]):
                by_shape[value.shape].remove(candidate)
                matches[name] = candidate
                break
    return matches


class _Recorder(torch.fx.Interpreter):
    """Runs a program and records the values of some of its nodes."""

    def __init__(self, module: torch.fx.GraphModule, names: Collection[str]) -> None:
        super().__init__(module)
        self._names = names
        self.values: dict[str, Array] = {}

    def run_node(self, n: torch.fx.Node) -> Any:
        result = super().run_node(n)
        if n.name in self._names and isinstance(result, torch.Tensor):
            value = result.float() if result.dtype == torch.bfloat16 else result
            self.values[n.name] = value.numpy().copy()
        return result


def _values(path: Path, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Values of all tensors of the graph, computed without optimisations."""
    model = onnx.load(path)
    names = [name for node in model.graph.node for name in node.output if name]
    outputs = {value.name for value in model.graph.output}
    model.graph.output.extend(
        onnx.ValueInfoProto(name=name) for name in names if name not in outputs
    )
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 3
    session = ort.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )
    values = session.run(names, dict(inputs))
    return {
        name: value
        for name, value in zip(names, values, strict=True)
        if isinstance(value, np.ndarray)
    }


def _equal(one: Array, other: Array, close: float) -> bool:
    if one.dtype.kind != other.dtype.kind:
        return False
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    difference = np.subtract(one, other, dtype=np.float64)
    largest = np.abs(other).max(initial=0)
    return bool(np.abs(difference).max(initial=0) <= close * largest)
