"""The error of a network's outputs when a single layer computes in int8.

The network is cut into segments. A layer is rounded in its own segment only, which gives its share
of the noise at the segment's end; the noise of all layers of a segment then passes through the
segments behind it at once::

    segment 1           segment 2        segment 3
    x ─ a ─ b ─ c ─┬─▶ ───────────▶ ┬─▶ ──────────▶ y
     one at a time │   noise of a, b and c: one pass
                   └─ norms of the noise of a, b, c

    error(a)² = error(y)² norm(a)² / (norm(a)² + norm(b)² + norm(c)²)

Noise of the same norm at the same tensor is taken to cost the same. A pass through one segment with
rounding takes about twice the time of one without, so n layers in s segments take the time of
2 n / s + s / 2 passes of the network: 2 sqrt(n) at least, in place of 2 n. Small networks have a
segment per layer, whose error is then measured at the outputs.

Roundings of different layers are nearly independent, so the squares of their errors add up (Zhou et
al. 2018, "Adaptive Quantization for Deep Neural Network", section 4; MobileNetV2: 2.6 % from the
sum, 2.5 % measured). A part of an error that is the same for all inputs is left out: the correction
of biases removes it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from workers.backends.mixed.segments import Segment, cut, segment_model
from workers.backends.mixed.switches import SwitchableModel, onnx_session
from workers.backends.normalform.opset import raise_opset
from workers.engine.ports import Array

#: Operators whose layers can be switched; of their inputs, the first two are rounded.
_PRODUCTS = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
#: Multiply-accumulates of all runs: some seconds of one core.
_MOST_MACS = 200_000_000_000
_MOST_ROWS = 4
#: Norms below count as this one.
_LEAST = 1e-12


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
    Neighbours form groups if single layers would take too long. ``macs`` are of one row of
    ``inputs``. Exceptions of ONNX and ONNX Runtime pass.
    """
    model = raise_opset(onnx.load(path))
    requested = set(nodes)
    layers = []
    for at, node in enumerate(model.graph.node):
        name = next((each for each in (node.name, *node.output) if each in requested), None)
        if name is not None and node.op_type in _PRODUCTS:
            node.name = name
            layers.append(at)
    if not layers:
        return []
    rows = min(len(array) if array.ndim else 1 for array in inputs.values())
    affordable = max(1, _MOST_MACS // max(macs, 1))
    rows = max(min(2, rows), min(rows, _MOST_ROWS, int(affordable / 2 / sqrt(len(layers)))))
    passes = affordable / rows
    groups = min(len(layers), max(1, round((passes / 2) ** 2)))
    # The most segments for these passes: 2 groups / count + count / 2.
    count = int(passes + sqrt(max(0.0, passes**2 - 4 * groups)))
    segments = cut(model.graph, layers, max(1, min(groups, count)))
    used = {name: array[:rows] for name, array in inputs.items()}
    return _Propagation(model, layers, segments, used).errors(groups)


class _Propagation:
    """A network in segments, with the values of one run in float32."""

    def __init__(
        self,
        model: onnx.ModelProto,
        layers: Sequence[int],
        segments: Sequence[Segment],
        inputs: Mapping[str, Array],
    ) -> None:
        self._model, self._layers, self._segments = model, layers, segments
        self._values, self._ranges = _exact_run(model, layers, segments, inputs)
        outputs = [value.name for value in model.graph.output if _is_float(value)]
        self._outputs = [name for name in outputs if name in self._values]
        self._sessions = {
            segment: onnx_session(segment_model(model, segment, self._values))
            for segment in segments[1:]
        }
        # For each segment the names of the tensors that are needed behind it.
        self._read_behind = [set(self._outputs) for _ in segments]
        for at in reversed(range(len(segments) - 1)):
            self._read_behind[at] |= self._read_behind[at + 1].union(segments[at + 1].inputs)

    def errors(self, count: int) -> list[Sensitivity]:
        """Sensitivities of about ``count`` groups of layers."""
        sensitive: list[Sensitivity] = []
        for number, segment in enumerate(self._segments):
            layers = [at for at in self._layers if segment.start <= at < segment.stop]
            own_count = max(1, round(count * len(layers) / len(self._layers)))
            groups = [list(group) for group in np.array_split(layers, own_count)]
            noises = self._noises(segment, groups)
            if number + 1 < len(self._segments):
                errors = self._shares(noises, number)
            else:
                errors = [self._error(noise) for noise in noises]
            for group, error in zip(groups, errors, strict=True):
                names = tuple(self._model.graph.node[at].name for at in group)
                sensitive.append(Sensitivity(names, error))
        return sensitive

    def _noises(
        self, segment: Segment, groups: Sequence[Sequence[int]]
    ) -> Iterator[dict[str, Array]]:
        """For each group of layers the errors of the segment's outputs."""
        own = [[at - segment.start for at in group] for group in groups]
        model = segment_model(self._model, segment, self._values)
        switchable = SwitchableModel(model, own, self._ranges)
        names = [name for name in segment.outputs if self._values[name].dtype.kind == "f"]
        feed = {name: self._values[name] for name in segment.inputs}
        for number in range(len(groups)):
            arrays = switchable.run(names, feed, number)
            yield {
                name: _difference(array, self._values[name])
                for name, array in zip(names, arrays, strict=True)
            }

    def _shares(self, noises: Iterable[Mapping[str, Array]], number: int) -> list[float]:
        """The error of the network's outputs by each of several noises at the end of a segment,
        which pass through the segments behind it together."""
        norms: list[float] = []
        total: dict[str, Array] = {}
        scales: dict[str, float] = {}
        for noise in noises:
            scales = scales or {name: max(_norm(self._values[name]), _LEAST) for name in noise}
            norms.append(hypot(*(_norm(noise[name]) / scales[name] for name in noise)))
            total = {name: np.add(error, total.get(name, 0)) for name, error in noise.items()}
        error = self._error(self._propagated(total, number))
        if len(norms) == 1:
            return [error]
        whole = hypot(*norms)
        return [error * norm / whole if whole else 0.0 for norm in norms]

    def _propagated(self, noise: Mapping[str, Array], number: int) -> dict[str, Array]:
        """Errors of the network's outputs that noise at the end of a segment causes."""
        noisy = {name: np.add(self._values[name], error) for name, error in noise.items()}
        for at, segment in enumerate(self._segments[number + 1 :], number + 1):
            feed = {name: noisy.get(name, self._values[name]) for name in segment.inputs}
            arrays = self._sessions[segment].run(list(segment.outputs), feed)
            noisy.update(zip(segment.outputs, arrays, strict=True))
            noisy = {name: noisy[name] for name in noisy.keys() & self._read_behind[at]}
        return {
            name: _difference(noisy.get(name, self._values[name]), self._values[name])
            for name in self._outputs
        }

    def _error(self, noise: Mapping[str, Array]) -> float:
        """Relative L2 error of the network's outputs without the mean error over the rows, which
        biases can correct."""
        worst = 0.0
        for name in self._outputs:
            if name not in noise:
                continue
            error = noise[name].astype(np.float64)
            rows = len(error) if error.ndim > 1 else 1
            if rows > 1:
                error = (error - error.mean(axis=0)) * np.sqrt(rows / (rows - 1))
            worst = max(worst, _norm(error) / max(_norm(self._values[name]), _LEAST))
        return worst


def _difference(array: Array, value: Array) -> Array:
    """The error of a tensor. It is 0 where one of both is infinite, as masks of attention are."""
    with np.errstate(invalid="ignore"):
        error = np.subtract(array, value)
    return np.where(np.isfinite(error), error, np.zeros((), error.dtype))


def _norm(array: Array) -> float:
    """L2 norm of the finite values."""
    return float(np.linalg.norm(array[np.isfinite(array)].astype(np.float64, copy=False)))


def _exact_run(
    model: onnx.ModelProto,
    layers: Sequence[int],
    segments: Sequence[Segment],
    inputs: Mapping[str, Array],
) -> tuple[dict[str, Array], dict[str, tuple[float, float]]]:
    """Values of the network's inputs and of the outputs of all segments; smallest and largest value
    of each activation that a layer takes."""
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    read = (name for at in layers for name in graph.node[at].input[:2])
    names = list(dict.fromkeys(name for name in read if name not in weights))
    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    bounds = []
    for number, name in enumerate(names):
        for kind in ("Min", "Max"):
            output = f"hpcfair/{kind}/{number}"
            node = helper.make_node(f"Reduce{kind}", [name], [output], keepdims=0)
            watched.graph.node.append(node)
            watched.graph.output.append(onnx.ValueInfoProto(name=output))
            bounds.append(output)
    crossing = [name for segment in segments for name in segment.outputs]
    own = {value.name for value in graph.output}
    watched.graph.output.extend(
        onnx.ValueInfoProto(name=name) for name in crossing if name not in own
    )
    arrays = onnx_session(watched).run([*bounds, *crossing], dict(inputs))
    limits = [float(value) for value in arrays[: len(bounds)]]
    ranges = {name: (limits[2 * i], limits[2 * i + 1]) for i, name in enumerate(names)}
    return {**inputs, **dict(zip(crossing, arrays[len(bounds) :], strict=True))}, ranges


def _is_float(value: onnx.ValueInfoProto) -> bool:
    return bool(value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT)
