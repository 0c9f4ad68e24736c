"""The error of a network's outputs when a single layer computes in int8.

::

    one session of ONNX Runtime; an input per group of layers switches its rounding on

    x ─┬────────────────────────(+)─▶ layer        x + switch * (rounded(x) - x)
       └─ round to 8 bits ─(-)──(*)┘               weights likewise, with the difference stored
                          switch ┘

Roundings of different layers are nearly independent, so the squares of their errors add up (Zhou et
al. 2018, "Adaptive Quantization for Deep Neural Network", section 4; MobileNetV2: 2.6 % from the
sum, 2.5 % measured). A part of an error that is the same for all inputs is left out: the correction
of biases removes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from hpcfair.runtimes.quiet_onnxruntime import ort
from workers.backends.normalform.opset import raise_opset
from workers.engine.ports import Array

_Floats = npt.NDArray[np.float64]

#: Operators whose layers can be switched; of their inputs, the first two are rounded.
_PRODUCTS = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
_LEVELS = 255
#: Multiply-accumulates of all runs: some seconds of one core.
_MOST_MACS = 250_000_000_000
_MOST_ROWS = 4


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """A group of layers.

    Attributes:
        nodes: Names of the nodes in the network's file.
        error: Relative L2 error of the outputs when only these layers compute in int8.
    """

    nodes: tuple[str, ...]
    error: float


def sensitivities(
    path: Path, nodes: Sequence[str], macs: int, inputs: Mapping[str, Array]
) -> list[Sensitivity]:
    """Errors of layers of an ONNX file, in the file's order.

    ``nodes`` are the names of nodes, or of their outputs; those that the file lacks are left out.
    Neighbours form groups if a run for each layer would take too long. ``macs`` are of one row of
    ``inputs``. Exceptions of ONNX and ONNX Runtime pass.
    """
    model = raise_opset(onnx.load(path))
    requested = set(nodes)
    layers = []
    for node in model.graph.node:
        name = next((each for each in (node.name, *node.output) if each in requested), None)
        if name is not None and node.op_type in _PRODUCTS:
            node.name = name
            layers.append(node)
    if not layers:
        return []
    rows = _rows(inputs)
    affordable = max(1, _MOST_MACS // max(macs, 1))
    count = min(len(layers), max(1, affordable // min(2, rows)))
    used = {n: a[: max(1, min(rows, _MOST_ROWS, affordable // count))] for n, a in inputs.items()}
    groups = [list(group) for group in np.array_split(np.arange(len(layers)), count)]
    ranges = _ranges(model, layers, used)
    switched = _Switched(model, layers, groups, ranges)
    return switched.errors(used)


def _rows(inputs: Mapping[str, Array]) -> int:
    return min(len(array) if array.ndim else 1 for array in inputs.values())


def _ranges(
    model: onnx.ModelProto, layers: Sequence[onnx.NodeProto], inputs: Mapping[str, Array]
) -> dict[str, tuple[float, float]]:
    """Smallest and largest value of each activation that a layer takes."""
    weights = {tensor.name for tensor in model.graph.initializer}
    names = list(dict.fromkeys(n for each in layers for n in each.input[:2] if n not in weights))
    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    results = []
    for number, name in enumerate(names):
        for kind in ("Min", "Max"):
            output = f"hpcfair/{kind}/{number}"
            node = helper.make_node(f"Reduce{kind}", [name], [output], keepdims=0)
            watched.graph.node.append(node)
            watched.graph.output.append(
                helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, [])
            )
            results.append(output)
    values = _session(watched).run(results, dict(inputs))
    bounds = [float(value) for value in values]
    return {name: (bounds[2 * i], bounds[2 * i + 1]) for i, name in enumerate(names)}


class _Switched:
    """A network with a switch for the rounding of each group of layers."""

    def __init__(
        self,
        model: onnx.ModelProto,
        layers: Sequence[onnx.NodeProto],
        groups: Sequence[Sequence[int]],
        ranges: Mapping[str, tuple[float, float]],
    ) -> None:
        self._layers, self._groups, self._ranges = layers, groups, ranges
        self._graph = model.graph
        self._weights = {tensor.name: tensor for tensor in model.graph.initializer}
        self._new: dict[int, list[onnx.NodeProto]] = {}
        outputs = [value.name for value in model.graph.output if _is_float(value)]
        for number, group in enumerate(groups):
            self._graph.input.append(
                helper.make_tensor_value_info(_switch(number), onnx.TensorProto.FLOAT, [])
            )
            for layer in group:
                self._insert(layer, number)
        nodes: list[onnx.NodeProto] = []
        at = {id(layer): number for number, layer in enumerate(layers)}
        for node in self._graph.node:
            nodes += [*self._new.get(at.get(id(node), -1), ()), node]
        copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del self._graph.node[:]
        self._graph.node.extend(copies)
        self._outputs = outputs
        self._session = _session(model)

    def errors(self, inputs: Mapping[str, Array]) -> list[Sensitivity]:
        exact = self._run(inputs, None)
        return [
            Sensitivity(
                tuple(self._layers[layer].name for layer in group),
                _varying_error(exact, self._run(inputs, number)),
            )
            for number, group in enumerate(self._groups)
        ]

    def _run(self, inputs: Mapping[str, Array], on: int | None) -> list[Array]:
        switches = {_switch(n): np.float32(n == on) for n in range(len(self._groups))}
        feed = {**inputs, **{name: np.asarray(value) for name, value in switches.items()}}
        results: list[Array] = self._session.run(self._outputs, feed)
        return results

    def _insert(self, layer: int, group: int) -> None:
        node = self._layers[layer]
        added = self._new.setdefault(layer, [])
        for position, name in enumerate(node.input[:2]):
            prefix = f"hpcfair/{layer}/{position}"
            if name in self._weights:
                weight = numpy_helper.to_array(self._weights[name])
                difference = rounded_weight(weight, _channel_axis(node)) - weight
                self._constant(f"{prefix}/difference", difference)
            else:
                added += self._rounded(prefix, name)
            added.append(
                helper.make_node("Mul", [f"{prefix}/difference", _switch(group)], [f"{prefix}/on"])
            )
            added.append(helper.make_node("Add", [name, f"{prefix}/on"], [f"{prefix}/value"]))
            node.input[position] = f"{prefix}/value"

    def _rounded(self, prefix: str, name: str) -> list[onnx.NodeProto]:
        low, high = self._ranges[name]
        low, high = min(low, 0.0), max(high, 0.0)
        scale = np.float32(max((high - low) / _LEVELS, 1e-12))
        self._constant(f"{prefix}/scale", np.asarray(scale))
        self._constant(f"{prefix}/zero", np.asarray(np.uint8(np.clip(round(-low / scale), 0, 255))))
        parameters = [f"{prefix}/scale", f"{prefix}/zero"]
        return [
            helper.make_node("QuantizeLinear", [name, *parameters], [f"{prefix}/integer"]),
            helper.make_node(
                "DequantizeLinear", [f"{prefix}/integer", *parameters], [f"{prefix}/rounded"]
            ),
            helper.make_node("Sub", [f"{prefix}/rounded", name], [f"{prefix}/difference"]),
        ]

    def _constant(self, name: str, value: Array) -> None:
        self._graph.initializer.append(numpy_helper.from_array(value, name))


def rounded_weight(weight: Array, axis: int) -> Array:
    """A weight rounded to 8 bits, symmetrically in each channel of an axis."""
    others = tuple(each for each in range(weight.ndim) if each != axis % max(weight.ndim, 1))
    scale = np.maximum(np.abs(weight).max(axis=others, keepdims=True) / 127, 1e-12)
    return np.asarray(np.round(weight / scale) * scale, weight.dtype)


def _channel_axis(node: onnx.NodeProto) -> int:
    """The axis of output channels of a layer's weight."""
    if node.op_type == "Gemm":
        transposed = any(a.name == "transB" and a.i for a in node.attribute)
        return 0 if transposed else 1
    return {"Conv": 0, "ConvTranspose": 1, "MatMul": -1}[node.op_type]


def _varying_error(exact: Sequence[Array], outputs: Sequence[Array]) -> float:
    """Relative L2 error without the mean error over the rows, which biases can correct."""
    worst = 0.0
    for expected, output in zip(exact, outputs, strict=True):
        error = np.subtract(output, expected, dtype=np.float64)
        rows = len(error) if error.ndim > 1 else 1
        if rows > 1:
            error = (error - error.mean(axis=0)) * np.sqrt(rows / (rows - 1))
        norm = float(np.linalg.norm(np.asarray(expected, np.float64)))
        worst = max(worst, float(np.linalg.norm(error)) / max(norm, 1e-12))
    return worst


def _is_float(value: onnx.ValueInfoProto) -> bool:
    return bool(value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT)


def _switch(group: int) -> str:
    return f"hpcfair/switch/{group}"


def _session(model: onnx.ModelProto) -> ort.InferenceSession:
    settings = ort.SessionOptions()
    # It warns of each weight that is not used any more.
    settings.log_severity_level = 3
    data = model.SerializeToString()
    return ort.InferenceSession(data, settings, providers=["CPUExecutionProvider"])
