"""Which tensors of the published graph the nodes of an exported program give, told by values.

The program and the ONNX graph are two files of one network, and nothing in them says which node is
which. So both are run on the same inputs, and a node of the program that gives what a node of the
graph gives, element by element, computes the same.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import torch

from hpcfair.runtimes.tensors import MappedTensor
from workers.engine.ports import Array

#: Largest difference between equal tensors, relative to the largest element.
_CLOSE = {"float32": 1e-4, "bfloat16": 3e-2}


def tensors_of_nodes(
    exported: Any,
    names: Collection[str],
    graph: Path,
    inputs: Mapping[str, Array],
    mapped: Sequence[MappedTensor],
    precision: str,
) -> dict[str, str]:
    """Nodes of a program to the tensors of the graph that have their values.

    Args:
        names: Nodes of the program that are of interest.
        graph: The ONNX file.
        inputs: The graph's, by name.
        mapped: Where the program has them.
        precision: That the program computes in.
    """
    arguments: list[Any] = [None] * len(mapped)
    for each in mapped:
        arguments[each.index] = torch.from_numpy(each.to_file(inputs[each.tensor.name]).copy())
    given = _Recorder(exported.module(check_guards=False), names)
    with torch.no_grad():
        given.run(*arguments)
    known = _values(graph, inputs)
    by_shape: dict[tuple[int, ...], list[str]] = {}
    for name, value in known.items():
        by_shape.setdefault(value.shape, []).append(name)
    found: dict[str, str] = {}
    for name, value in given.values.items():
        # Both files list nodes in the order they run: of equal tensors the first is still free.
        for candidate in by_shape.get(value.shape, []):
            if _equal(value, known[candidate], _CLOSE[precision]):
                by_shape[value.shape].remove(candidate)
                found[name] = candidate
                break
    return found


class _Recorder(torch.fx.Interpreter):
    """Runs a program and keeps what some of its nodes give."""

    def __init__(self, module: torch.fx.GraphModule, names: Collection[str]) -> None:
        super().__init__(module)
        self._names = names
        self.values: dict[str, Array] = {}

    def run_node(self, n: torch.fx.Node) -> Any:
        result = super().run_node(n)
        if n.name in self._names and isinstance(result, torch.Tensor):
            kept = result.float() if result.dtype == torch.bfloat16 else result
            self.values[n.name] = kept.numpy().copy()
        return result


def _values(path: Path, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Every tensor that a node of the graph gives, without optimisations."""
    model = onnx.load(path)
    names = [name for node in model.graph.node for name in node.output if name]
    shown = {value.name for value in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in shown)
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
    gap = np.subtract(one, other, dtype=np.float64)
    largest = np.abs(other).max(initial=0)
    return bool(np.abs(gap).max(initial=0) <= close * largest)
