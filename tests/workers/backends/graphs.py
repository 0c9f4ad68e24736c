"""Random graphs as exporters write them: ``float32[N,4] -> float32[N,4]``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

Nodes = list[onnx.NodeProto]
#: Makes the nodes of a step from a value to another, at an opset; names start with the new value's.
Step = Callable[[str, str, int], Nodes]

_IR_VERSION = 8
_WIDTH = 4
#: Constants that steps refer to by name.
_CONSTANTS: dict[str, Any] = {
    "half": np.array(0.5, np.float32),
    "one": np.array([1], np.int64),
    "minus": np.array([-1], np.int64),
    "shift": np.linspace(-1, 1, _WIDTH, dtype=np.float32),
    "w": np.linspace(-1, 1, _WIDTH * _WIDTH, dtype=np.float32).reshape(_WIDTH, _WIDTH),
}


def _single(operator: str, *others: str, **attributes: Any) -> Step:
    def step(source: str, name: str, opset: int) -> Nodes:
        return [helper.make_node(operator, [source, *others], [name], name, **attributes)]

    return step


def _reshaped(source: str, name: str, opset: int) -> Nodes:
    """To the shape it has, which is computed."""
    parts = {part: f"{name}.{part}" for part in ("sizes", "four", "target")}
    return [
        helper.make_node("Shape", [source], [parts["sizes"]], parts["sizes"]),
        helper.make_node("Gather", [parts["sizes"], "one"], [parts["four"]], parts["four"]),
        helper.make_node("Concat", ["minus", parts["four"]], [parts["target"]], axis=0),
        helper.make_node("Reshape", [source, parts["target"]], [name], name),
    ]


def _squeezed(source: str, name: str, opset: int) -> Nodes:
    """A new axis and its removal, written as the opset demands."""
    inside = f"{name}.wide"
    if opset < 13:
        return [
            helper.make_node("Unsqueeze", [source], [inside], inside, axes=[1]),
            helper.make_node("Squeeze", [inside], [name], name, axes=[1]),
        ]
    return [
        helper.make_node("Unsqueeze", [source, "one"], [inside], inside),
        helper.make_node("Squeeze", [inside, "one"], [name], name),
    ]


def _centred(source: str, name: str, opset: int) -> Nodes:
    """Minus the mean of the row."""
    mean = f"{name}.mean"
    inputs, attributes = ([source, "one"], {}) if opset >= 18 else ([source], {"axes": [1]})
    return [
        helper.make_node("ReduceMean", inputs, [mean], mean, keepdims=1, **attributes),
        helper.make_node("Sub", [source, mean], [name], name),
    ]


def _scaled(source: str, name: str, opset: int) -> Nodes:
    """By a factor that is computed of constants."""
    factor, root = f"{name}.factor", f"{name}.root"
    value = numpy_helper.from_array(np.array(2.0, np.float32))
    return [
        helper.make_node("Constant", [], [factor], factor, value=value),
        helper.make_node("Sqrt", [factor], [root], root),
        helper.make_node("Mul", [source, root], [name], name),
    ]


def _cast(source: str, name: str, opset: int) -> Nodes:
    return [helper.make_node("Cast", [source], [name], name, to=TensorProto.FLOAT)]


def _called(source: str, name: str, opset: int) -> Nodes:
    return [helper.make_node("Twice", [source], [name], name, domain="own")]


STEPS: dict[str, Step] = {
    "relu": _single("Relu"),
    "identity": _single("Identity"),
    "tanh": _single("Tanh"),
    "product": _single("MatMul", "w"),
    "sum": _single("Add", "shift"),
    "reshape": _reshaped,
    "squeeze": _squeezed,
    "centre": _centred,
    "scale": _scaled,
    "cast": _cast,
    "call": _called,
}


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    """A chain of steps at any opset from 11, with stale sizes of some of its values."""
    opset = draw(st.integers(11, 22))
    names = draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6))
    model = chain(names, opset)
    values = sorted({name for node in model.graph.node for name in node.output} - {"y"})
    for name in draw(st.lists(st.sampled_from(values), unique=True)) if values else ():
        # Of the batch size that the exporter had at hand.
        stale = helper.make_tensor_value_info(name, _type_of(name), _stale_shape(name))
        model.graph.value_info.append(stale)
    return model


def chain(names: Sequence[str], opset: int) -> onnx.ModelProto:
    """The steps one after another."""
    nodes: Nodes = []
    source = "x"
    for number, step in enumerate(names):
        target = "y" if number == len(names) - 1 else f"v{number}"
        nodes += STEPS[step](source, target, opset)
        source = target
    return model_of(nodes, opset)


def exported() -> onnx.ModelProto:
    """One graph with every step."""
    return chain(sorted(STEPS), 17)


def model_of(nodes: Nodes, opset: int) -> onnx.ModelProto:
    """The model of nodes from ``x`` to ``y``, with the constants that they use."""
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", _WIDTH]) for name in ("x", "y")
    ]
    used = {name for node in nodes for name in node.input}
    constants = [
        numpy_helper.from_array(array, name) for name, array in _CONSTANTS.items() if name in used
    ]
    opsets = [helper.make_opsetid("", opset)]
    functions = []
    if any(node.op_type == "Twice" for node in nodes):
        body = [
            helper.make_node("Add", ["in", "in"], ["sum"], "inner"),
            helper.make_node("Tanh", ["sum"], ["out"], "outer"),
        ]
        functions.append(helper.make_function("own", "Twice", ["in"], ["out"], body, opsets))
        opsets = [*opsets, helper.make_opsetid("own", 1)]
    graph = helper.make_graph(nodes, "network", ends[:1], ends[1:], constants)
    return helper.make_model(
        graph, opset_imports=opsets, functions=functions, ir_version=_IR_VERSION
    )


def evaluated(model: onnx.ModelProto, inputs: dict[str, Any]) -> Any:
    """The output by ONNX's own evaluator."""
    (output,) = ReferenceEvaluator(model).run(None, inputs)
    return output


def _type_of(name: str) -> int:
    is_integer = name.endswith((".sizes", ".four", ".target"))
    return int(TensorProto.INT64 if is_integer else TensorProto.FLOAT)


def _stale_shape(name: str) -> list[int]:
    if name.endswith((".sizes", ".target")):
        return [2]
    if name.endswith((".four", ".mean")):
        return [1] if name.endswith(".four") else [1, 1]
    if name.endswith((".factor", ".root")):
        return []
    return [1, 1, _WIDTH] if name.endswith(".wide") else [1, _WIDTH]
