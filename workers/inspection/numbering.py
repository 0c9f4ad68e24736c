"""Turns a protobuf model into a :class:`~workers.inspection.flow.Flow`."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, numpy_helper

from workers.inspection.flow import Body, Constant, Flow, Shape, Step, Values
from workers.inspection.skeleton import OnnxFailure
from workers.inspection.walk import graphs_in

#: Upper bound on the elements of a constant whose values are stored.
FEW = 64


def operator_name(node: NodeProto) -> str:
    """``Conv``, or ``com.microsoft::Gelu`` outside the default domain."""
    return node.op_type if node.domain in {"", "ai.onnx"} else f"{node.domain}::{node.op_type}"


def build(model: onnx.ModelProto) -> Flow:
    """The data flow of a checked model without functions, with shapes where it states them."""
    builder = _Builder()
    main = builder.body(model.graph, {})
    opsets = {opset.domain or "ai.onnx": opset.version for opset in model.opset_import}
    return Flow(main, builder.constants, builder.shapes, builder.dtypes, opsets)


class _Builder:
    """Numbers values while it descends into subgraphs, whose nesting protobuf limits."""

    def __init__(self) -> None:
        self.constants: dict[int, Constant] = {}
        self.shapes: dict[int, Shape] = {}
        self.dtypes: dict[int, int] = {}
        self._count = 0

    def body(self, graph: GraphProto, outer: Mapping[str, int]) -> Body:
        """Number the values of ``graph``; ``outer`` has those visible from enclosing graphs."""
        names: dict[str, int] = {}
        input_names = {value.name for value in graph.input}
        for tensor in graph.initializer:
            self._constant(self._new(names, tensor.name), tensor, tensor.name in input_names)
        for sparse in graph.sparse_initializer:
            self._sparse(self._new(names, sparse.values.name), sparse)
        inputs = [v.name for v in graph.input if v.name not in names]
        body = Body(inputs=tuple(self._new(names, name) for name in inputs))
        scope = {**outer, **names}
        for node in graph.node:
            self._step(node, body, scope)
        # The checker reports undefined names; here they get a number of their own.
        body.outputs = tuple(
            scope[v.name] if v.name in scope else self._new(scope, v.name) for v in graph.output
        )
        for value in (*graph.value_info, *graph.output, *graph.input):
            if value.name in scope:
                self._note(scope[value.name], value)
        return body

    def _step(self, node: NodeProto, body: Body, scope: dict[str, int]) -> None:
        constant = stored_tensor(node)
        if constant is not None and len(node.output) == 1:
            number = self._new(scope, node.output[0])
            if isinstance(constant, TensorProto):
                self._constant(number, constant, overridable=False)
            else:
                self._sparse(number, constant)
            return
        inputs = tuple(
            None if not name else scope[name] if name in scope else self._new(scope, name)
            for name in node.input
        )
        before = self._count
        bodies: dict[str, Body] = {}
        for attribute in node.attribute:
            for i, graph in enumerate(graphs_in(attribute)):
                bodies[f"{attribute.name}.{i}"] = self.body(graph, scope)
        captured = dict.fromkeys(
            value for inner in bodies.values() for value in _read(inner) if value <= before
        )
        outputs = tuple(self._new(scope, name) if name else None for name in node.output)
        body.steps.append(
            Step(
                op=operator_name(node),
                inputs=inputs,
                outputs=outputs,
                attributes={a.name: a for a in node.attribute if not graphs_in(a)},
                bodies=bodies,
                captured=tuple(captured),
            )
        )

    def _new(self, scope: dict[str, int], name: str) -> int:
        self._count += 1
        scope[name] = self._count
        return self._count

    def _constant(self, number: int, tensor: TensorProto, overridable: bool) -> None:  # noqa: FBT001
        elements = int(np.prod(tensor.dims, dtype=np.int64))
        values: Values | None = None
        if elements <= FEW:
            try:
                values = numpy_helper.to_array(tensor)
            except OnnxFailure:
                values = None
        self.constants[number] = Constant(
            tensor.data_type, tuple(tensor.dims), elements, values, overridable
        )

    def _sparse(self, number: int, sparse: onnx.SparseTensorProto) -> None:
        stored = int(np.prod(sparse.values.dims, dtype=np.int64))
        self.constants[number] = Constant(sparse.values.data_type, tuple(sparse.dims), stored)

    def _note(self, number: int, value: onnx.ValueInfoProto) -> None:
        if value.type.WhichOneof("value") != "tensor_type":
            return
        tensor = value.type.tensor_type
        self.dtypes[number] = tensor.elem_type
        if tensor.HasField("shape"):
            self.shapes[number] = tuple(
                dim.dim_value if dim.WhichOneof("value") == "dim_value" else None
                for dim in tensor.shape.dim
            )


def _read(body: Body) -> Iterator[int]:
    for step in body.steps:
        yield from (value for value in step.inputs if value is not None)
        yield from step.captured
    yield from body.outputs


def stored_tensor(node: NodeProto) -> TensorProto | onnx.SparseTensorProto | None:
    """The tensor of a ``Constant`` node in any of its notations; ``None`` for other nodes."""
    if node.op_type != "Constant" or node.domain not in {"", "ai.onnx"} or not node.attribute:
        return None
    attribute = node.attribute[0]
    if attribute.name == "sparse_value":
        sparse: onnx.SparseTensorProto = attribute.sparse_tensor
        return sparse
    literal = _LITERALS.get(attribute.name)
    return literal(attribute) if literal else None


def _words(words: list[bytes], dims: list[int]) -> TensorProto:
    return TensorProto(data_type=TensorProto.STRING, dims=dims, string_data=words)


_LITERALS: dict[str, Callable[[AttributeProto], TensorProto]] = {
    "value": lambda a: a.t,
    "value_int": lambda a: numpy_helper.from_array(np.asarray(a.i, np.int64)),
    "value_ints": lambda a: numpy_helper.from_array(np.asarray(a.ints, np.int64)),
    "value_float": lambda a: numpy_helper.from_array(np.asarray(a.f, np.float32)),
    "value_floats": lambda a: numpy_helper.from_array(np.asarray(a.floats, np.float32)),
    "value_string": lambda a: _words([a.s], []),
    "value_strings": lambda a: _words(list(a.strings), [len(a.strings)]),
}
