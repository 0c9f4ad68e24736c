"""Drops what exporters and optimisers say about a graph beside it, and what no longer need hold.

Sizes of intermediate values (``value_info``) follow from the graph. Tools that change a graph leave
old ones behind, and others then refuse the file: they infer the sizes and find a difference.
"""

from collections.abc import Iterable

import onnx

#: Domains of operators whose results ONNX can infer.
_INFERRED = frozenset({"", "ai.onnx", "ai.onnx.ml"})


def drop_annotations(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without sizes of intermediate values, documentation and metadata."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    clear_annotations(copy)
    return copy


def clear_annotations(model: onnx.ModelProto) -> None:
    """Drop the annotations of a model in place. Values of operators that ONNX does not know keep
    their element type, which nothing else tells."""
    for message in (model, model.graph, *model.functions):
        _clear(message, "doc_string", "metadata_props")
    _drop(model.graph)
    for function in model.functions:
        del function.value_info[:]
        _drop_in(function.node)


def _drop(graph: onnx.GraphProto) -> None:
    """Drop the annotations of a graph and of its subgraphs."""
    foreign = {name for node in graph.node if node.domain not in _INFERRED for name in node.output}
    foreign_values = [value for value in graph.value_info if value.name in foreign]
    for value in foreign_values:
        value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    graph.value_info.extend(foreign_values)
    for described in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        _clear(described, "doc_string", "metadata_props")
    _drop_in(graph.node)


def _drop_in(nodes: Iterable[onnx.NodeProto]) -> None:
    for node in nodes:
        _clear(node, "doc_string", "metadata_props")
        for attribute in node.attribute:
            _clear(attribute, "doc_string")
            for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                _clear(graph, "doc_string", "metadata_props")
                _drop(graph)


def _clear(message: object, *fields: str) -> None:
    for field in fields:
        message.ClearField(field)  # type: ignore[attr-defined]  # every message has it
