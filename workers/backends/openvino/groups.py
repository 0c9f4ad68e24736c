"""Grouped convolutions before quantisation.

OpenVINO 2026.4 computes them in float32 even where their inputs and weights are quantised, unless
their windows are single points: rounding around them then only costs. A few wide groups become as
many plain convolutions, which it computes in int8 (AlexNet: 1.5 times as fast as a whole); narrow
ones and those of single channels are left in float32 (MobileNetV2: 1.15 times).
"""

from typing import Any

import numpy as np

from hpcfair.runtimes.quiet_openvino import ov

#: More groups cost more in calls than they gain, and fewer channels do not fill a vector.
_MOST_GROUPS, _FEWEST_CHANNELS = 4, 16


def prepare_groups(model: Any) -> list[str]:
    """Split in place the grouped convolutions that gain by it; returns names of those that are
    better left in float32."""
    left = []
    for node in model.get_ordered_ops():
        if node.get_type_name() != "GroupConvolution":
            continue
        groups, filters, channels, *window = node.get_input_shape(1)
        if max(window) == 1:
            continue
        few = groups <= _MOST_GROUPS and min(filters, channels) >= _FEWEST_CHANNELS
        few = few and len(window) == len("HW")
        weights, behind = _constant(node.input_value(1)), _behind(node, groups * filters)
        if few and behind and weights is not None:
            _split(node, weights, behind)
        else:
            left.append(node.friendly_name)
    return left


def _behind(node: Any, filters: int) -> list[Any]:
    """Bias and rectifier of a convolution, as far as nobody else takes what is between.

    Without any, OpenVINO would find that the parts are a grouped convolution, and make it one.
    """
    found: list[Any] = []
    while True:
        takers = (port.get_node() for port in (found or [node])[-1].output(0).get_target_inputs())
        # The frontend lays a bias out by the number of dimensions that comes out.
        after = [taker for taker in takers if taker.get_type_name() != "ShapeOf"]
        follower = after[0] if len(after) == 1 else None
        if follower is None:
            return found
        kind = follower.get_type_name()
        if kind == "Add" and not found:
            bias = _constant(follower.input_value(1))
            if bias is None or bias.shape[-3:-2] != (filters,) or bias.size != filters:
                return found
        elif kind != "Relu":
            return found
        found.append(follower)


def _split(node: Any, weights: Any, behind: list[Any]) -> None:
    ops, settings = ov.opset13, node.get_attributes()
    sources = ops.split(node.input_value(0), 1, len(weights)).outputs()
    parts = []
    for number, (source, group) in enumerate(zip(sources, weights, strict=True)):
        part = ops.convolution(
            source,
            np.ascontiguousarray(group),
            *(settings[key] for key in ("strides", "pads_begin", "pads_end", "dilations")),
            settings["auto_pad"],
        )
        for follower in behind:
            if follower.get_type_name() == "Relu":
                part = ops.relu(part)
            else:
                bias = np.split(_constant(follower.input_value(1)), len(weights), axis=-3)
                part = ops.add(part, np.ascontiguousarray(bias[number]))
        parts.append(part.output(0))
    whole = ops.concat(parts, 1)
    whole.friendly_name = behind[-1].friendly_name
    ov.utils.replace_node(behind[-1], whole)


def _constant(value: Any) -> Any:
    """The array of a constant, which may be given another shape first; ``None`` if it is none."""
    node, shape = value.get_node(), list(value.get_shape())
    if node.get_type_name() == "Reshape":
        node = node.input_value(0).get_node()
    return node.data.reshape(shape) if node.get_type_name() == "Constant" else None
