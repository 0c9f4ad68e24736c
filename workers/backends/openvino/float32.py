"""Networks of which some operators compute in float32, the others in a lower precision."""

from collections.abc import Collection
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from hpcfair.runtimes.quiet_openvino import ov
from workers.backends.openvino.convert import save

#: Attribute of an operator in an IR that keeps it in float32.
_MARK = {"name": "DisablePrecisionConversion", "version": "0", "value": "dynamic:f16"}
#: Ends the name of an operator that keeps a product apart from its bias.
_APART = "/apart"
#: Operators that may square.
_SQUARES = frozenset({"Power", "Multiply"})


def save_in_float32(model: Any, names: Collection[str], path: Path) -> None:
    """Write an IR whose operators ``names`` compute in float32 wherever the others do not.

    The mark is ``DisablePrecisionConversion``. OpenVINO's CPU plugin loses it where it fuses a
    product of weights with its bias (``FullyConnectedBiasFusion``). A PReLU of slope 1 keeps them
    apart. It changes no value, and is fused into the product later, as the bias is then. The same
    keeps the mean of squares apart from a normalisation, which is fused otherwise (``RMSFusion``),
    and a constant factor from the next one. The marks of ``MaxPool``, ``Softmax``, divisions by
    constants and the reciprocal of a square root are lost in conversion to what the plugin
    computes, so they are converted here.
    """
    marked = set(names)
    for node in model.get_ordered_ops():
        if node.friendly_name in names and node.get_type_name() in _CONVERSIONS:
            _CONVERSIONS[node.get_type_name()](node)
    for node in model.get_ordered_ops():
        if node.friendly_name in names and _is_fusible(node):
            slope = ov.opset13.constant([1.0], node.get_output_element_type(0))
            apart = ov.opset13.prelu(node.output(0), slope, name=node.friendly_name + _APART)
            insert_behind(node.output(0), apart)
            marked.add(apart.friendly_name)
    model.validate_nodes_and_infer_types()
    save(model, path)
    _mark(path, marked)


def layer_output(layer: Any) -> Any:
    """The output of a layer, to which its bias is added."""
    for target in layer.output(0).get_target_inputs():
        if target.get_node().friendly_name == layer.friendly_name + _APART:
            return target.get_node().output(0)
    return layer.output(0)


def insert_behind(port: Any, node: Any) -> None:
    """Connect the consumers of ``port`` to ``node``, which is one of them, and give it the names of
    the tensor, after which outputs of the network are named."""
    inserted = node.output(0)
    for consumer in port.get_target_inputs():
        if consumer.get_node().friendly_name != node.friendly_name:
            consumer.replace_source_output(inserted)
    names = set(port.names)
    port.set_names(set())
    inserted.set_names(names)


def _is_fusible(node: Any) -> bool:
    if node.get_type_name() == "ReduceMean":
        return str(node.input_value(0).get_node().get_type_name()) in _SQUARES
    if _is_factor(node):
        return any(_is_factor(port.get_node()) for port in node.output(0).get_target_inputs())
    if node.get_type_name() != "MatMul":
        return False
    return str(node.input_value(1).get_node().get_type_name()) == "Constant"


def _is_factor(node: Any) -> bool:
    """Whether a node multiplies by a constant, and not sizes, which are integers."""
    sources = {port.get_source_output().get_node().get_type_name() for port in node.inputs()}
    is_factor = node.get_type_name() == "Multiply" and "Constant" in sources
    return is_factor and bool(node.get_output_element_type(0).is_real())


def _convert_pooling(node: Any) -> None:
    """Replace a ``MaxPool`` of a later opset by that of the first, if it computes no more."""
    facts = node.get_attributes()
    is_plain = set(facts.get("dilations", ())) == {1} and facts["rounding_type"] != "ceil_torch"
    if not is_plain or node.output(1).get_target_inputs():
        return
    pooled = ov.opset1.max_pool(
        node.input_value(0),
        facts["strides"],
        facts["pads_begin"],
        facts["pads_end"],
        facts["kernel"],
        facts["rounding_type"],
        facts["auto_pad"],
    )
    _replace(node, pooled)


def _convert_softmax(node: Any) -> None:
    """Replace a ``Softmax`` of a later opset by that of the first."""
    axis = node.get_axis()
    rank = node.output(0).get_partial_shape().rank
    if axis < 0 and rank.is_dynamic:
        return
    axis = axis + rank.get_length() if axis < 0 else axis
    _replace(node, ov.opset1.softmax(node.input_value(0), axis))


def _convert_division(node: Any) -> None:
    """Replace the reciprocal of a square root by a power, and the division by a constant by the
    product with its reciprocal, as the plugin does."""
    dividend, divisor = (node.input_value(port).get_node() for port in range(2))
    kinds = (dividend.get_type_name(), divisor.get_type_name())
    if kinds[1] == "Constant" and node.get_element_type().is_real():
        with np.errstate(divide="ignore"):
            reciprocal = ov.opset13.constant(1 / divisor.get_data())
        _replace(node, ov.opset1.multiply(node.input_value(0), reciprocal))
    elif kinds == ("Constant", "Sqrt") and np.all(dividend.get_data() == 1):
        exponent = np.array(-0.5, node.get_element_type().to_dtype())
        _replace(node, ov.opset1.power(divisor.input_value(0), exponent))


def _replace(node: Any, by: Any) -> None:
    """Give an operator's name and consumers to another one."""
    name = node.friendly_name
    node.set_friendly_name(f"{name}/replaced")
    by.set_friendly_name(name)
    insert_behind(node.output(0), by)


_CONVERSIONS = {
    "Divide": _convert_division,
    "MaxPool": _convert_pooling,
    "Softmax": _convert_softmax,
}


def _mark(path: Path, names: Collection[str]) -> None:
    """Mark layers of a written IR, unless they are."""
    tree = ElementTree.parse(path)  # noqa: S314  written by OpenVINO just before
    for layer in tree.getroot().iter("layer"):
        if layer.get("name") not in names:
            continue
        info = layer.find("rt_info")
        if info is None:
            info = ElementTree.Element("rt_info")
            layer.insert(1 if layer.find("data") is not None else 0, info)
        if info.find(f"attribute[@name='{_MARK['name']}']") is None:
            ElementTree.SubElement(info, "attribute", _MARK)
    tree.write(path)
