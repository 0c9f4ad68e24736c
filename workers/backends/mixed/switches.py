"""Rounding of layers to int8 that can be switched on in one session of ONNX Runtime.

::

    one session of ONNX Runtime; an input per group of layers switches its rounding on

    x ─┬────────────────────────(+)─▶ layer        x + switch * (rounded(x) - x)
       └─ round to 8 bits ─(-)──(*)┘               weights likewise, with the difference stored
                          switch ┘
"""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from hpcfair.runtimes.quiet_onnxruntime import ort
from workers.engine.ports import Array

_LEVELS = 255


class SwitchableModel:
    """A network with a switch for the rounding of each group of layers; it changes ``model``.

    Args:
        groups: Indices of nodes: products whose first two inputs are rounded.
        ranges: Smallest and largest value of each activation that the layers take.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        groups: Sequence[Sequence[int]],
        ranges: Mapping[str, tuple[float, float]],
    ) -> None:
        self._count, self._ranges = len(groups), ranges
        self._graph = model.graph
        self._weights = {tensor.name: tensor for tensor in model.graph.initializer}
        group_of = {layer: number for number, group in enumerate(groups) for layer in group}
        nodes: list[onnx.NodeProto] = []
        for at, node in enumerate(self._graph.node):
            if at in group_of:
                nodes += self._inserted(at, node, group_of[at])
            nodes.append(node)
        for number in range(self._count):
            self._graph.input.append(
                helper.make_tensor_value_info(_switch(number), onnx.TensorProto.FLOAT, [])
            )
        copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del self._graph.node[:]
        self._graph.node.extend(copies)
        self._session = onnx_session(model)

    def run(self, outputs: Sequence[str], inputs: Mapping[str, Array], on: int) -> list[Array]:
        """The named outputs when the group numbered ``on`` is rounded."""
        switches = {_switch(n): np.asarray(np.float32(n == on)) for n in range(self._count)}
        results: list[Array] = self._session.run(list(outputs), {**inputs, **switches})
        return results

    def _inserted(self, layer: int, node: onnx.NodeProto, group: int) -> list[onnx.NodeProto]:
        """The nodes that round the inputs of a layer, which then reads them."""
        added: list[onnx.NodeProto] = []
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
        return added

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


def onnx_session(model: onnx.ModelProto) -> ort.InferenceSession:
    """A session on the CPU, one of many that have short runs: it keeps no memory, and its threads
    sleep between the runs."""
    settings = ort.SessionOptions()
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    settings.enable_cpu_mem_arena = False
    # It warns of each weight that is not used any more.
    settings.log_severity_level = 3
    data = model.SerializeToString()
    return ort.InferenceSession(data, settings, providers=["CPUExecutionProvider"])


def _channel_axis(node: onnx.NodeProto) -> int:
    """The axis of output channels of a layer's weight."""
    if node.op_type == "Gemm":
        transposed = any(a.name == "transB" and a.i for a in node.attribute)
        return 0 if transposed else 1
    return {"Conv": 0, "ConvTranspose": 1, "MatMul": -1}[node.op_type]


def _switch(group: int) -> str:
    return f"hpcfair/switch/{group}"
