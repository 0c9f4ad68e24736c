"""The layers of networks: products, their weights, and the rounding of what they take."""

import re
from typing import Any

import numpy as np

from hpcfair.runtimes.quiet_openvino import ov
from workers.engine.ports import Array

HEAVY = frozenset({"Convolution", "GroupConvolution", "ConvolutionBackpropData", "MatMul"})
#: Operators by which a layer is scaled and shifted.
AFFINE = frozenset({"Add", "Multiply"})
#: The operator that NNCF inserts before layers.
ROUNDING = "FakeQuantize"
#: What OpenVINO and NNCF append to the name of the node that an operator comes from.
_APPENDED = re.compile(r"(/Dequantization\w*|/WithoutBiases|_original)$")


def node_name(operator: str) -> str:
    """The name of the ONNX node that an operator of OpenVINO comes from."""
    while (shorter := _APPENDED.sub("", operator)) != operator:
        operator = shorter
    return operator


def quantised_layers(model: Any) -> list[Any]:
    """Products whose inputs NNCF rounds, in order."""
    return [
        node
        for node in model.get_ordered_ops()
        if node.get_type_name() in HEAVY
        and any(node.input_value(i).get_node().get_type_name() == ROUNDING for i in (0, 1))
    ]


def bypass(port: Any) -> None:
    """Connect an input to the unrounded value."""
    source = port.get_source_output().get_node()
    if source.get_type_name() == ROUNDING:
        port.replace_source_output(source.input_value(0))


def named_layers(model: Any) -> dict[str, Any]:
    """Products by the names of their ONNX nodes."""
    products = [node for node in model.get_ordered_ops() if node.get_type_name() in HEAVY]
    return {node_name(node.friendly_name): node for node in products}


def weights(layer: Any) -> Any:
    """The constant of a layer's weights, before they are rounded; ``None`` if they are not
    constant."""
    source = layer.input_value(1).get_node()
    if source.get_type_name() == ROUNDING:
        source = source.input_value(0).get_node()
    return source if source.get_type_name() == "Constant" else None


def replace_weights(layer: Any, values: Array) -> None:
    """Give a layer other weights, of as many elements, in place; they become float32."""
    old = weights(layer)
    new = ov.opset13.constant(np.ascontiguousarray(values.reshape(list(old.shape)), np.float32))
    new.set_friendly_name(old.friendly_name)
    rounding = layer.input_value(1).get_node()
    port = rounding.input(0) if rounding.get_type_name() == ROUNDING else layer.input(1)
    port.replace_source_output(new.output(0))


def make_weights_constant(model: Any) -> None:
    """Replace reshaped weights of grouped convolutions by constants, in place.

    The frontend for ONNX reshapes these weights in the graph. OpenVINO 2026.4 then does not
    recognise quantised weights as constants and computes the convolution in float32, except for 1x1
    kernels. With constants it computes in int8: MobileNetV2 and AlexNet as a whole are 1.4 times as
    fast.
    """
    for node in model.get_ordered_ops():
        if node.get_type_name() != "GroupConvolution":
            continue
        reshaped = node.input_value(1)
        source = reshaped.get_node()
        if source.get_type_name() != "Reshape":
            continue
        constant = source.input_value(0).get_node()
        if constant.get_type_name() == "Constant":
            values = np.ascontiguousarray(constant.data.reshape(list(reshaped.get_shape())))
            node.input(1).replace_source_output(ov.opset13.constant(values).output(0))
