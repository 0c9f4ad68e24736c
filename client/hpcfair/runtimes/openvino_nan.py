"""Rewrites networks so that OpenVINO propagates NaN.

OpenVINO's CPU kernels compare with instructions that return the other operand for NaN: ``Relu`` of
NaN is 0, so damaged inputs give plausible outputs. Here each such operator is followed by one that
restores NaN. This prevents fusion with neighbouring operators, so it is used only for inputs and
weights with NaN, or with infinity, which can turn into NaN.

As in NumPy, a maximum over a window or an axis is NaN if any of its elements is.
"""

from typing import Any

from hpcfair.runtimes.quiet_openvino import ov

_POINTWISE = frozenset({"Relu", "Clamp", "HardSigmoid", "FakeQuantize"})
_OF_TWO = frozenset({"Maximum", "Minimum"})


def keep_nan(model: Any) -> Any:
    """A copy of the network that computes the same but propagates NaN."""
    copy, ops = model.clone(), ov.opset13
    for node in copy.get_ordered_ops():
        kind = node.get_type_name()
        if not node.get_output_size() or not node.get_output_element_type(0).is_real():
            continue
        if kind in _POINTWISE:
            _restore_nan(node, _is_nan(node.input_value(0)))
        elif kind in _OF_TWO:
            _restore_nan(node, ops.logical_or(*(_is_nan(node.input_value(i)) for i in range(2))))
        elif kind == "Softmax":
            value = node.input_value(0)
            # NaN, or infinity, which becomes NaN as it is subtracted from itself.
            bad = ops.logical_not(ops.less(value, _constant(float("inf"), value)))
            axis = node.get_attributes()["axis"]
            _restore_nan(node, ops.reduce_logical_or(bad, [axis], keep_dims=True))
        elif kind == "MaxPool":
            _restore_nan(node, _marked(_pooled_marks(node)))
        elif kind in {"ReduceMin", "ReduceMax"}:
            marks = ops.convert(_is_nan(node.input_value(0)), "f32")
            keep = node.get_attributes()["keep_dims"]
            most = ops.reduce_max(marks, node.input_value(1), keep_dims=keep)
            _restore_nan(node, _marked(most))
    copy.validate_nodes_and_infer_types()
    return copy


def _restore_nan(node: Any, mask: Any) -> None:
    """Replace the node's output by NaN where the mask is set."""
    output = node.output(0)
    targets, names = output.get_target_inputs(), output.names
    replaced = ov.opset13.select(mask, _constant(float("nan"), output), output).output(0)
    for target in targets:
        target.replace_source_output(replaced)
    output.set_names(set())
    replaced.set_names(names)


def _pooled_marks(node: Any) -> Any:
    """The largest mark of each window of a pooling; marks are 1 for NaN and 0 otherwise."""
    marks = ov.opset13.convert(_is_nan(node.input_value(0)), "f32")
    of = node.get_attributes()
    return ov.opset14.max_pool(
        marks,
        of["strides"],
        of.get("dilations", [1] * len(of["kernel"])),
        of["pads_begin"],
        of["pads_end"],
        of["kernel"],
        of["rounding_type"],
        of["auto_pad"],
    ).output(0)


def _marked(marks: Any) -> Any:
    return ov.opset13.greater(marks, ov.opset13.constant(0.0, ov.Type.f32))


def _is_nan(value: Any) -> Any:
    return ov.opset13.not_equal(value, value)


def _constant(number: float, like: Any) -> Any:
    return ov.opset13.constant(number, like.get_element_type())
