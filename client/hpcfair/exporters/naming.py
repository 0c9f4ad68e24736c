"""Names of the tensors and dimensions of an exported network."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx

from hpcfair.exporters.base import Examples
from hpcfair.runtimes.base import Array

BATCH = "N"
_BY_NAME = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def named_inputs(examples: Examples, names: Sequence[str]) -> dict[str, Array]:
    """The examples by name. Given by position, they get ``names``, as many as there are of them;
    without a name they are called ``input``, or ``input0``, ``input1``..."""
    if isinstance(examples, Mapping):
        # Without names of its own, a model takes them in the order in which they are given.
        order = names if set(names) == set(examples) else list(examples)
        return {name: examples[name] for name in order}
    arrays = list(examples or ())
    names = names if len(names) == len(arrays) else numbered("input", len(arrays))
    return dict(zip(names, arrays, strict=True))


def numbered(stem: str, count: int) -> list[str]:
    """``stem`` alone, or ``stem0``, ``stem1``..."""
    return [stem] if count == 1 else [f"{stem}{number}" for number in range(count)]


def parameters_of(function: Callable[..., Any], count: int) -> list[str]:
    """Names of the first ``count`` positional parameters; empty if there are not as many."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    names = [parameter.name for parameter in parameters if parameter.kind in _BY_NAME]
    return names[:count] if len(names) >= count else []


def rename(model: onnx.ModelProto, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Give the inputs, outputs and the leading dynamic dimension of each their names, in place."""
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializer}
    fed = [value for value in graph.input if value.name not in constants]
    _separate(graph)
    pairs = [*zip(fed, inputs, strict=True), *zip(graph.output, outputs, strict=True)]
    names = {value.name: name for value, name in pairs}
    taken = {name for node in graph.node for name in node.output} | constants
    # A result inside the graph that already has one of the names makes way.
    names |= {name: f"{name}_inner" for name in taken.intersection(names.values()) - set(names)}
    for value, name in pairs:
        value.name = name
        dimensions = value.type.tensor_type.shape.dim
        if dimensions and not dimensions[0].HasField("dim_value"):
            dimensions[0].dim_param = BATCH
    _rename(graph, names)


def _separate(graph: onnx.GraphProto) -> None:
    """Give outputs that are inputs or constants, or one result twice, a result of their own."""
    taken = {value.name for value in (*graph.input, *graph.initializer)}
    for number, output in enumerate(graph.output):
        if output.name in taken:
            name = f"{output.name}_copy{number}"
            graph.node.append(onnx.helper.make_node("Identity", [output.name], [name]))
            output.name = name
        taken.add(output.name)


def _rename(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    for tensor in (*graph.initializer, *graph.value_info):
        tensor.name = names.get(tensor.name, tensor.name)
    for node in graph.node:
        for side in (node.input, node.output):
            side[:] = [names.get(name, name) for name in side]
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                _rename(inner, names)
