"""Writes an ensemble of trees as ONNX."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from hpcfair.exporters.trees.ensemble import Ensemble, Leaf, Node, Split

#: The first versions with trees in float64 and with all other operators below.
OPSETS = (("", 17), ("ai.onnx.ml", 3))
_IR_VERSION = 8


def model_of(ensemble: Ensemble, name: str, dtype: np.dtype[Any]) -> onnx.ModelProto:
    """``name: dtype[N, features]`` to ``prediction``, or to ``probabilities`` and ``label``.

    A prediction has the shape ``[N]`` for one target, else ``[N, targets]``.
    """
    writer = _Writer()
    sums = _sums(writer, ensemble, name, dtype)
    outputs = _outputs(writer, ensemble, sums)
    graph = helper.make_graph(
        writer.nodes,
        "trees",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(dtype), ["N", ensemble.features]
            )
        ],
        outputs,
        writer.constants,
    )
    opsets = [helper.make_opsetid(*opset) for opset in OPSETS]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="hpcfair")
    model.ir_version = _IR_VERSION
    onnx.checker.check_model(model)
    return model


class _Writer:
    """Nodes and constants; each result has a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"{operator.lower()}_{len(self.nodes)}"
        domain = "ai.onnx.ml" if operator == "TreeEnsembleRegressor" else ""
        self.nodes.append(
            helper.make_node(operator, list(inputs), [output], domain=domain, **attributes)
        )
        return output

    def constant(self, value: Any, dtype: Any) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name


def _sums(writer: _Writer, ensemble: Ensemble, name: str, dtype: np.dtype[Any]) -> str:
    """Sums of the leaves, ``float32[N, targets]``: the operator has no other result."""
    kind = np.dtype(ensemble.dtype)
    element = helper.np_dtype_to_tensor_dtype(kind)
    features = name if dtype == kind else writer.add("Cast", name, to=element)
    if ensemble.missing is not None:
        is_missing = writer.add("Equal", features, writer.constant(ensemble.missing, kind))
        features = writer.add("Where", is_missing, writer.constant(np.nan, kind), features)
    sums = writer.add("TreeEnsembleRegressor", features, **_attributes(ensemble))
    if ensemble.average_of > 1:
        sums = writer.add("Div", sums, writer.constant(ensemble.average_of, np.float32))
    return sums


def _outputs(writer: _Writer, ensemble: Ensemble, sums: str) -> list[onnx.ValueInfoProto]:
    targets = len(ensemble.base)
    linked = _linked(writer, ensemble, sums)
    if not ensemble.classes:
        if targets == 1:
            axis = writer.constant([1], np.int64)
            writer.add("Squeeze", linked, axis, output="prediction")
        else:
            writer.add("Identity", linked, output="prediction")
        shape: list[int | str] = ["N"] if targets == 1 else ["N", targets]
        return [helper.make_tensor_value_info("prediction", TensorProto.FLOAT, shape)]
    if targets == 1:
        other = writer.add("Sub", writer.constant(1, np.float32), linked)
        writer.add("Concat", other, linked, axis=1, output="probabilities")
    else:
        writer.add("Identity", linked, output="probabilities")
    number = writer.add("ArgMax", "probabilities", axis=1, keepdims=0)
    is_text = isinstance(ensemble.classes[0], str)
    labels = writer.constant(ensemble.classes, object if is_text else np.int64)
    writer.add("Gather", labels, number, output="label")
    return [
        helper.make_tensor_value_info(
            "probabilities", TensorProto.FLOAT, ["N", len(ensemble.classes)]
        ),
        helper.make_tensor_value_info(
            "label", TensorProto.STRING if is_text else TensorProto.INT64, ["N"]
        ),
    ]


def _linked(writer: _Writer, ensemble: Ensemble, sums: str) -> str:
    match ensemble.link:
        case "identity":
            return sums
        case "softmax":
            return writer.add("Softmax", sums, axis=1)
        case "exp":
            return writer.add("Exp", sums)
        case "square":
            return writer.add("Mul", sums, writer.add("Abs", sums))
        case "sigmoid":
            if ensemble.sigmoid != 1:
                sums = writer.add("Mul", sums, writer.constant(ensemble.sigmoid, np.float32))
            return writer.add("Sigmoid", sums)


def _attributes(ensemble: Ensemble) -> dict[str, Any]:
    rows: dict[str, list[Any]] = {}
    for number, tree in enumerate(ensemble.trees):
        for row in _rows(number, tree):
            for key, value in row.items():
                rows.setdefault(key, []).append(value)
    weights = [
        (number, leaf, target, weight)
        for number, leaf, leaf_weights in zip(
            rows["nodes_treeids"], rows["nodes_nodeids"], rows.pop("weights"), strict=True
        )
        for target, weight in leaf_weights.items()
    ]
    trees, leaves, targets, values = zip(*weights, strict=True)
    attributes: dict[str, Any] = {
        **rows,
        "target_treeids": trees,
        "target_nodeids": leaves,
        "target_ids": targets,
        "target_weights": values,
        "base_values": list(ensemble.base),
        "n_targets": len(ensemble.base),
    }
    if ensemble.dtype == np.float64:
        for key in ("nodes_values", "target_weights", "base_values"):
            tensor = numpy_helper.from_array(np.asarray(attributes.pop(key), np.float64), key)
            attributes[f"{key}_as_tensor"] = tensor
    return attributes


def _rows(number: int, root: Node) -> Iterator[dict[str, Any]]:
    """The nodes of one tree, each after those that refer to it, with the operator's attributes."""
    order = _order(root)
    place = {id(node): index for index, node in enumerate(order)}
    for index, node in enumerate(order):
        split = node if isinstance(node, Split) else None
        yield {
            "nodes_treeids": number,
            "nodes_nodeids": index,
            "nodes_featureids": split.feature if split else 0,
            "nodes_modes": split.comparison if split else "LEAF",
            "nodes_values": float(split.value) if split else 0.0,
            "nodes_missing_value_tracks_true": int(split.missing_is_true) if split else 0,
            "nodes_truenodeids": place[id(split.if_true)] if split else 0,
            "nodes_falsenodeids": place[id(split.if_false)] if split else 0,
            "weights": node.weights if isinstance(node, Leaf) else {},
        }


def _order(root: Node) -> Sequence[Node]:
    order: list[Node] = []
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        order.append(node)
        if isinstance(node, Split):
            waiting += (node.if_true, node.if_false)
    return order
