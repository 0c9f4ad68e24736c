"""Ways to write the same computation differently, and different computations alike."""

import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper


def copy_of(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def renamed(model: onnx.ModelProto, random_: random.Random) -> onnx.ModelProto:
    """Every tensor, node, dimension and graph under another name."""
    copy = copy_of(model)
    names: dict[str, str] = {"": ""}

    def name(old: str) -> str:
        return names.setdefault(old, f"n{len(names)}_{random_.randrange(10**6)}")

    graph = copy.graph
    graph.name = name("graph")
    for value in (*graph.input, *graph.output, *graph.value_info):
        value.name = name(value.name)
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = name("dim " + dim.dim_param)
    for tensor in graph.initializer:
        tensor.name = name(tensor.name)
    for node in graph.node:
        node.name = name(f"node {id(node)}")
        node.input[:] = [name(value) for value in node.input]
        node.output[:] = [name(value) for value in node.output]
    return copy


def reordered(model: onnx.ModelProto, random_: random.Random) -> onnx.ModelProto:
    """Nodes in another order of data flow, attributes and weights in any order."""
    copy = copy_of(model)
    waiting = list(copy.graph.node)
    made = {v.name for v in copy.graph.input} | {t.name for t in copy.graph.initializer} | {""}
    ordered = []
    while waiting:
        ready = [node for node in waiting if made.issuperset(node.input)]
        chosen = random_.choice(ready)
        waiting = [node for node in waiting if node is not chosen]
        made.update(chosen.output)
        ordered.append(chosen)
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in ordered]
    for node in nodes:
        attributes = list(node.attribute)
        random_.shuffle(attributes)
        kept = [onnx.AttributeProto.FromString(a.SerializeToString()) for a in attributes]
        del node.attribute[:]
        node.attribute.extend(kept)
    weights = [onnx.TensorProto.FromString(t.SerializeToString()) for t in copy.graph.initializer]
    random_.shuffle(weights)
    del copy.graph.node[:], copy.graph.initializer[:]
    copy.graph.node.extend(nodes)
    copy.graph.initializer.extend(weights)
    return copy


def retrained(model: onnx.ModelProto, random_: random.Random) -> onnx.ModelProto:
    """Other real weights."""
    copy = copy_of(model)
    rng = np.random.default_rng(random_.randrange(2**32))
    for tensor in copy.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            value = rng.normal(size=tuple(tensor.dims)).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    return copy


def annotated(model: onnx.ModelProto, random_: random.Random) -> onnx.ModelProto:
    """Other words around the same graph, and no inferred shapes."""
    copy = copy_of(model)
    copy.producer_name = f"exporter {random_.random()}"
    copy.doc_string = copy.graph.doc_string = "words"
    copy.metadata_props.add(key="author", value="somebody")
    copy.ir_version += 1
    del copy.graph.value_info[:]
    for node in copy.graph.node:
        node.doc_string = "more words"
    return copy


def with_constants_as_nodes(model: onnx.ModelProto, random_: random.Random) -> onnx.ModelProto:
    """Some weights moved from initializers into ``Constant`` nodes."""
    copy = copy_of(model)
    moved = [t for t in copy.graph.initializer if random_.random() < 0.5]
    nodes = [helper.make_node("Constant", [], [t.name], value=t) for t in moved]
    kept = [t for t in copy.graph.initializer if t not in moved]
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(kept)
    others = list(copy.graph.node)
    del copy.graph.node[:]
    copy.graph.node.extend(nodes + others)
    return copy


def _pick(model: onnx.ModelProto, random_: random.Random) -> onnx.NodeProto:
    return random_.choice(list(model.graph.node))


def another_operator(model: onnx.ModelProto, random_: random.Random) -> onnx.ModelProto:
    """One activation replaced by another."""
    copy = copy_of(model)
    chosen = [n for n in copy.graph.node if n.op_type in {"Relu", "Clip", "Erf", "Sqrt", "Tanh"}]
    node = random_.choice(chosen or list(copy.graph.node))
    node.op_type = "Sigmoid" if chosen else "Elu"
    return copy


def another_attribute(model: onnx.ModelProto, random_: random.Random) -> onnx.ModelProto:
    """One integer attribute changed, or one added."""
    copy = copy_of(model)
    found = [
        a
        for n in copy.graph.node
        for a in n.attribute
        if a.type in {AttributeProto.INTS, AttributeProto.INT}
    ]
    if not found:
        _pick(copy, random_).attribute.append(helper.make_attribute("axis", 1))
        return copy
    attribute = random_.choice(found)
    if attribute.type == AttributeProto.INT:
        attribute.i += 1
    else:
        attribute.ints[0] += 1
    return copy


def another_shape(model: onnx.ModelProto, random_: random.Random) -> onnx.ModelProto:
    """One more row in one weight, or another input size."""
    copy = copy_of(model)
    weights = [t for t in copy.graph.initializer if t.data_type == TensorProto.FLOAT and t.dims]
    if not weights:
        dim = copy.graph.input[0].type.tensor_type.shape.dim[-1]
        dim.dim_value += 1
        return copy
    tensor = random_.choice(weights)
    value = numpy_helper.to_array(tensor)
    value = np.concatenate([value, value[:1]])
    tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    return copy


def another_type(model: onnx.ModelProto, random_: random.Random) -> onnx.ModelProto:
    """The input in another precision."""
    del random_
    copy = copy_of(model)
    tensor = copy.graph.input[0].type.tensor_type
    tensor.elem_type = (
        TensorProto.DOUBLE if tensor.elem_type == TensorProto.FLOAT else TensorProto.INT32
    )
    return copy


def another_opset(model: onnx.ModelProto, random_: random.Random) -> onnx.ModelProto:
    """The same words in another version of the language."""
    del random_
    copy = copy_of(model)
    copy.opset_import[0].version += 1
    return copy


Rewrite = Callable[[onnx.ModelProto, random.Random], onnx.ModelProto]
SAME: tuple[Rewrite, ...] = (renamed, reordered, retrained, annotated, with_constants_as_nodes)
OTHER: tuple[Rewrite, ...] = (
    another_operator,
    another_attribute,
    another_shape,
    another_type,
    another_opset,
)
