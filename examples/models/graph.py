"""Writes ONNX networks layer by layer, with the names and layout of PyTorch's exporter. Batch
normalisations are folded into the preceding convolutions, as exporters do for inference; weights
are named ``<module>.weight``, nodes and their values after their module."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

OPSET = 17
IR_VERSION = 8

Shape = Sequence[int | str]


class Graph:
    """A network in the making. Values are passed around by name; weights are drawn at once."""

    def __init__(self, title: str, rng: np.random.Generator) -> None:
        self._title = title
        self._rng = rng
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._used: dict[str, int] = {}

    def input(self, name: str, shape: Shape, dtype: int = TensorProto.FLOAT) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name: str, shape: Shape) -> str:
        """Declare a float32 output; some node must be given this name as its ``out``."""
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def constant(self, name: str, value: npt.ArrayLike, dtype: Any = np.float32) -> str:
        array = np.ascontiguousarray(np.asarray(value, dtype))
        # ascontiguousarray turns scalars into vectors.
        self._weights.append(numpy_helper.from_array(array.reshape(np.shape(value)), name))
        return name

    def normal(self, name: str, shape: Sequence[int], deviation: float, mean: float = 0.0) -> str:
        """A normally distributed weight."""
        return self.constant(name, self.draw(shape, deviation, mean))

    def draw(
        self, shape: Sequence[int], deviation: float, mean: float = 0.0
    ) -> npt.NDArray[np.float32]:
        """Normally distributed values, for a weight."""
        drawn = self._rng.standard_normal(tuple(shape), np.float32)
        return drawn * np.float32(deviation) + np.float32(mean)

    def op(self, kind: str, scope: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        """Add a node with one output, in the module ``scope``; returns the output's name."""
        name = f"/{scope.replace('.', '/')}/{kind}"
        count = self._used.get(name, 0)
        self._used[name] = count + 1
        if count:
            name = f"{name}_{count}"
        out = out or f"{name}_output_0"
        self._nodes.append(helper.make_node(kind, inputs, [out], name=name, **attributes))
        return out

    def conv(
        self,
        scope: str,
        x: str,
        channels: tuple[int, int],
        kernel: int = 1,
        *,
        stride: int = 1,
        pad: int | None = None,
        group: int = 1,
    ) -> str:
        """A convolution with bias, of He's distribution (He et al. 2015, section 2.2).

        Args:
            channels: In and out.
            pad: On every side; the default keeps the size at stride 1.
        """
        shape = (channels[1], channels[0] // group, kernel, kernel)
        deviation = math.sqrt(2.0 / math.prod(shape[1:]))
        pad = kernel // 2 if pad is None else pad
        return self.op(
            "Conv",
            scope,
            x,
            self.normal(f"{scope}.weight", shape, deviation),
            self.constant(f"{scope}.bias", np.zeros(channels[1])),
            dilations=[1, 1],
            group=group,
            kernel_shape=[kernel, kernel],
            pads=[pad] * 4,
            strides=[stride, stride],
        )

    def gemm(self, scope: str, x: str, sizes: tuple[int, int], out: str = "") -> str:
        """A dense layer on ``[N, sizes[0]]``."""
        weight = self.normal(f"{scope}.weight", sizes[::-1], sizes[0] ** -0.5)
        bias = self.constant(f"{scope}.bias", np.zeros(sizes[1]))
        return self.op(
            "Gemm", scope, x, weight, bias, out=out, alpha=1.0, beta=1.0, transA=0, transB=1
        )

    def linear(self, scope: str, x: str, sizes: tuple[int, int]) -> str:
        """A dense layer on ``[N, S, sizes[0]]``; an input of unit variance keeps it."""
        weight = self.normal(f"{scope}.weight", sizes, sizes[0] ** -0.5)
        bias = self.normal(f"{scope}.bias", sizes[1:], 0.1)
        return self.op("Add", scope, bias, self.op("MatMul", scope, x, weight))

    def layer_norm(self, scope: str, x: str, width: int) -> str:
        """Normalisation of the last axis, with gains and shifts as training might leave them."""
        gain = self.normal(f"{scope}.weight", [width], 0.1, 1.0)
        shift = self.normal(f"{scope}.bias", [width], 0.1)
        return self.op("LayerNormalization", scope, x, gain, shift, axis=-1, epsilon=1e-12)

    def model(self) -> onnx.ModelProto:
        """The network so far, with the shapes of all values."""
        model = helper.make_model(
            helper.make_graph(self._nodes, self._title, self._inputs, self._outputs, self._weights),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="hpcfair.examples",
        )
        return shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
