"""Iterates over a raw protobuf model without recursion, because its nesting is untrusted."""

from collections.abc import Iterator

import onnx
from onnx import AttributeProto, GraphProto, NodeProto, SparseTensorProto, TensorProto


def nodes_of(roots: list[GraphProto] | list[NodeProto]) -> Iterator[NodeProto]:
    """All nodes of graphs or of a function's body, including subgraphs."""
    stack: list[GraphProto | NodeProto] = list(roots)
    while stack:
        item = stack.pop()
        if isinstance(item, NodeProto):
            yield item
            stack.extend(graph for attribute in item.attribute for graph in graphs_in(attribute))
        else:
            stack.extend(item.node)


def graphs_of(model: onnx.ModelProto) -> Iterator[GraphProto]:
    """Every graph of the model: main, training, and subgraphs of those and of functions."""
    roots = [model.graph]
    for info in model.training_info:
        roots += [info.initialization, info.algorithm]
    yield from roots
    for node in all_nodes(model):
        for attribute in node.attribute:
            yield from graphs_in(attribute)


def all_nodes(model: onnx.ModelProto) -> Iterator[NodeProto]:
    """Every node of the model: of main and training graphs and of functions, at any depth."""
    roots = [model.graph]
    for info in model.training_info:
        roots += [info.initialization, info.algorithm]
    yield from nodes_of(roots)
    for function in model.functions:
        yield from nodes_of(list(function.node))


def graphs_in(attribute: AttributeProto) -> list[GraphProto]:
    """The graphs in an attribute, usually none."""
    graphs = list(attribute.graphs)
    if attribute.HasField("g"):
        graphs.append(attribute.g)
    return graphs


def tensors_of(model: onnx.ModelProto) -> Iterator[TensorProto]:
    """Every tensor of the model: initializers, attributes, and the parts of sparse ones."""
    for graph in graphs_of(model):
        yield from graph.initializer
    for attribute in _attributes_of(model):
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
    for sparse in sparse_tensors_of(model):
        yield sparse.values
        yield sparse.indices


def sparse_tensors_of(model: onnx.ModelProto) -> Iterator[SparseTensorProto]:
    """Every sparse tensor of the model."""
    for graph in graphs_of(model):
        yield from graph.sparse_initializer
    for attribute in _attributes_of(model):
        if attribute.HasField("sparse_tensor"):
            yield attribute.sparse_tensor
        yield from attribute.sparse_tensors


def _attributes_of(model: onnx.ModelProto) -> Iterator[AttributeProto]:
    for node in all_nodes(model):
        yield from node.attribute
    for function in model.functions:
        yield from function.attribute_proto
