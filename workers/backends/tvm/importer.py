"""Imports ONNX into Relax and records the node of the graph that each operation comes from.

First step of provenance: TVM's importer drops names. So the results of each node are bound to
variables while it is converted; the numbers in their names form an interval that is disjoint from
those of other nodes. Runs in the child process of a build.
"""

import io
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import onnx
from tvm import IRModule, relax, tirx
from tvm.ir import Op
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter, _get_convert_map

from workers.backends.tvm import sizes as sizing
from workers.backends.tvm.conversions import RECURRENT, convert
from workers.backends.tvm.errors import reason_of
from workers.backends.tvm.fixed import with_fixed_sizes
from workers.backends.tvm.owners import rename
from workers.engine.errors import InvalidCandidate
from workers.engine.types import TensorSpec

#: Domains whose operators TVM's importer identifies by name alone.
_DOMAINS = frozenset({"", "ai.onnx", "com.microsoft"})
_TAKE, _RELU = Op.get("relax.take"), Op.get("relax.nn.relu")
_NUMBERED = re.compile(r"(?:lv|gv)(\d*)")


def import_model(
    path: Path, inputs: Sequence[TensorSpec], sizes: Mapping[str, int] | None
) -> IRModule:
    """Import an ONNX file with its external data; its function ``main`` takes ``inputs`` in order.

    Named dimensions get the ``sizes``, or become symbols without them. Variables are named after
    their nodes (:func:`workers.backends.tvm.owners.owners_of`). Raises InvalidCandidate, which
    names the operator, if TVM does not support the file.
    """
    model = _read(path)
    if sizes is not None and any(isinstance(size, str) for spec in inputs for size in spec.shape):
        model = with_fixed_sizes(model, inputs, sizes)
    _check(model)
    importer = _Importer(_shapes(inputs, sizes), {spec.name: spec.dtype for spec in inputs})
    opset = next((o.version for o in model.opset_import if o.domain in {"", "ai.onnx"}), 1)
    try:
        # On failure TVM prints the operator, weights included.
        with redirect_stdout(io.StringIO()):
            module = importer.from_onnx(model.graph, opset)
    except InvalidCandidate:
        raise
    except Exception as error:
        raise InvalidCandidate(f"TVM cannot import this network: {reason_of(error)}") from error
    if module["main"].attrs["num_input"] != len(inputs):
        raise InvalidCandidate("TVM imports another number of inputs than the network has")
    module["main"] = _Corrected(module).visit_expr(module["main"])
    return _named(module, importer.owners())


def _named(module: IRModule, owners: Mapping[str, int]) -> IRModule:
    """Rename variables after the nodes they were created for."""
    variables = (b.var for block in module["main"].body.blocks for b in block.bindings)
    return rename(module, {v: (owners[v.name],) for v in variables if v.name in owners})


@mutator
class _Corrected(PyExprMutator):  # type: ignore[misc]  # TVM has no types
    """Corrects the importer's conversion of two operators, at no cost at run time.

    ``take`` clips its indices: the importer's mode reads outside the table for invalid indices.
    ReLU propagates NaN: TVM's maximum returns its second operand for NaN.
    """

    def visit_call_(self, call: Any) -> Any:
        call = self.visit_expr_post_order(call)
        if call.op == _TAKE and call.attrs.mode == "fast":
            return relax.op.take(*call.args, axis=call.attrs.axis, mode="clip")
        if call.op == _RELU:
            (value,) = call.args
            return relax.op.maximum(relax.const(0, value.ty.dtype), value)
        return call


class _Importer(ONNXGraphImporter):  # type: ignore[misc]  # TVM has no types
    """TVM's importer with an interval of variable names per node; nodes are named by position."""

    def __init__(self, shapes: dict[str, list[Any]], dtypes: dict[str, str]) -> None:
        super().__init__(shapes, dtypes)
        #: Bounds of the numbers in a node's names, by node.
        self._intervals: dict[int, tuple[int, int]] = {}

    def owners(self) -> dict[str, int]:
        """Node by the name of the variable that was created for it."""
        return {
            name: index
            for index, (low, high) in self._intervals.items()
            for name in (f"lv{number}" for number in range(low + 1, high))
        }

    def _construct_nodes(self, graph: onnx.GraphProto) -> None:
        """Convert the nodes in order. What is computed of sizes alone is no operation."""
        for node in graph.node:
            inputs = [self._nodes[name] if name else None for name in node.input]
            result = None
            if any(map(sizing.is_size, inputs)):
                result = sizing.computed(node.op_type, inputs, self._parse_attr(node.attribute))
            if result is not None:
                self._nodes[node.output[0]] = result
                continue
            low = self._mark()
            super()._construct_nodes(onnx.GraphProto(node=[self._with_tensors(node, inputs)]))
            if (number := int(node.name)) in self._intervals:
                self._intervals[number] = low, self._intervals[number][1]

    def _with_tensors(self, node: onnx.NodeProto, inputs: list[Any]) -> onnx.NodeProto:
        """The node with tensors for shapes and scalars that its conversion does not take."""
        taken = sizing.SIZE_OPERANDS.get(node.op_type, frozenset())
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        for position, value in enumerate(inputs):
            if position not in taken and sizing.is_size(value):
                # No name of ONNX's is that of another value.
                changed.input[position] = name = f"{node.input[position]} as a tensor"
                self._nodes[name] = self.bb.emit(sizing.as_tensor(value))
        return changed

    def _check_for_unsupported_ops(self, graph: onnx.GraphProto) -> None:
        """Nothing: :func:`_check` knows the operators that this class adds."""

    def _convert_operator(
        self, op_name: str, inputs: list[Any], attrs: dict[str, Any], opset: int
    ) -> Any:
        low = self._mark()
        try:
            result = convert(self.bb, op_name, inputs, attrs)
            if result is None:
                result = super()._convert_operator(op_name, inputs, attrs, opset)
            result = self._bound(result)
        except Exception as error:
            raise InvalidCandidate(
                f"TVM cannot import the operator {op_name}: {reason_of(error)}"
            ) from error
        name = attrs["tvm_custom"]["name"]
        if name.isdecimal():
            self._intervals[int(name)] = (low, self._mark())
        return result

    def _bound(self, result: Any) -> Any:
        """``result`` bound to variables, so that their names fall into this node's interval."""
        if isinstance(result, relax.Tuple):
            return relax.Tuple([self._bound(field) for field in result.fields])
        if isinstance(result, relax.Call | relax.TupleGetItem):
            return self.bb.emit(result)
        return result

    def _mark(self) -> int:
        """A number between those of previous and of future names."""
        match = _NUMBERED.fullmatch(self.bb.get_unique_name("lv"))
        return int(match[1] or 0) if match else 0


def _read(path: Path) -> onnx.ModelProto:
    try:
        model = onnx.load(path)
    # Protobuf's DecodeError has no public base class.
    except Exception as error:
        raise InvalidCandidate(f"{path.name} cannot be read as ONNX: {error}") from error
    used = {name for node in model.graph.node for name in node.input}
    used |= {value.name for value in model.graph.output}
    for index, node in enumerate(model.graph.node):
        node.name = str(index)
        if node.op_type == "Dropout" and used.isdisjoint(node.output[1:]):
            del node.output[1:]
    return model


def _check(model: onnx.ModelProto) -> None:
    """Refuse operators that the importer would not support or would confuse with others."""
    supported = _get_convert_map()
    nodes = model.graph.node
    if not nodes or not model.graph.output:
        raise InvalidCandidate("the file contains no network")
    functions = {(function.domain, function.name) for function in model.functions}
    for node in nodes:
        if node.domain not in _DOMAINS or (node.domain, node.op_type) in functions:
            raise InvalidCandidate(
                f"TVM has no operator {node.op_type} of the domain {node.domain!r}"
            )
        if node.op_type not in supported and node.op_type not in {"If", "Constant", *RECURRENT}:
            raise InvalidCandidate(f"TVM has no operator {node.op_type}")


def _shapes(inputs: Sequence[TensorSpec], sizes: Mapping[str, int] | None) -> dict[str, list[Any]]:
    """Shapes of the inputs, with the size or one symbol for each named dimension."""
    symbols: dict[str, Any] = {}

    def size_of(size: int | str) -> Any:
        if isinstance(size, int):
            return size
        if sizes is not None:
            return sizes[size]
        letters = re.sub(r"\W", "_", size)
        return symbols.setdefault(size, tirx.Var(f"n_{letters}", "int64"))

    for spec in inputs:
        if "..." in spec.shape:
            raise InvalidCandidate(f"input {spec.name} may have any number of dimensions")
        if spec.dtype == "string" or "(" in spec.dtype:
            raise InvalidCandidate(
                f"input {spec.name} is a {spec.dtype}; TVM supports numbers only"
            )
    return {spec.name: [size_of(size) for size in spec.shape] for spec in inputs}
