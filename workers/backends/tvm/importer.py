"""Imports ONNX into Relax and records the node of the graph that each operation comes from.

First step of provenance: TVM's importer drops names. So the results of each node are bound to
variables while it is converted; the numbers in their names form an interval that is disjoint from
those of other nodes. Runs in the child process of a build.
"""

import io
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from functools import reduce
from math import isnan
from pathlib import Path
from typing import Any

import onnx
from tvm import IRModule, relax, tirx
from tvm.ir import GenericConst, Op
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter, _get_convert_map

from workers.backends.tvm.errors import reason_of
from workers.backends.tvm.fixed import with_fixed_sizes
from workers.backends.tvm.owners import rename
from workers.backends.tvm.recurrent import Recurrence
from workers.engine.errors import InvalidCandidate
from workers.engine.types import TensorSpec

#: Domains whose operators TVM's importer identifies by name alone.
_DOMAINS = frozenset({"", "ai.onnx", "com.microsoft"})
_TAKE, _RELU = Op.get("relax.take"), Op.get("relax.nn.relu")
_RECURRENT = {"LSTM": Recurrence.lstm, "GRU": Recurrence.gru}
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

    def _check_for_unsupported_ops(self, graph: onnx.GraphProto) -> None:
        """Nothing: :func:`_check` knows the operators that this class adds."""

    def _convert_operator(
        self, op_name: str, inputs: list[Any], attrs: dict[str, Any], opset: int
    ) -> Any:
        low = self._mark()
        try:
            result = self._corrected(op_name, inputs, attrs)
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

    def _corrected(self, op_name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        """Our conversion of an operator; ``None`` to use the importer's."""
        if op_name == "Clip":
            return self._clipped(inputs, attrs)
        if op_name == "Dropout" and attrs["tvm_custom"]["num_outputs"] == 1:
            # The importer copies the input, and creates a mask that ConvertLayout fails on.
            return inputs[0]
        if op_name in _RECURRENT:
            return _RECURRENT[op_name](Recurrence(self.bb, inputs, attrs))
        if op_name == "Resize":
            inputs[3:] = map(self._fixed_sizes, inputs[3:])
        if op_name == "Sum":
            # The importer stacks all inputs in memory first.
            return reduce(lambda one, other: self.bb.normalize(relax.op.add(one, other)), inputs)
        return None

    def _fixed_sizes(self, sizes: Any) -> Any:
        """The sizes that Resize takes, as a constant: the importer needs all of them to be known,
        but reads only those of the image."""
        if not isinstance(sizes, relax.ShapeExpr):
            return sizes
        batch_and_channels, image = sizes.values[:2], sizes.values[2:]
        if not all(isinstance(size, tirx.IntImm) for size in image):
            return sizes
        ignored = [0] * len(batch_and_channels)
        return relax.const([*ignored, *map(int, image)], "int64")

    def _clipped(self, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        """Clip that propagates NaN; ``None`` if bounds are not constant or NaN. The importer passes
        the value as first operand of maximum and minimum, which drops NaN."""
        value, *limits = inputs
        dtype = value.ty.dtype
        bounds = []
        for name, bound in zip(("min", "max"), (*limits, None, None), strict=False):
            number = attrs.get(name) if bound is None else bound
            if isinstance(number, GenericConst):
                number = number.value.numpy().item()
            if not isinstance(number, float | None) or (number is not None and isnan(number)):
                return None
            bounds.append(number)
        for bound, limit in zip(bounds, (relax.op.maximum, relax.op.minimum), strict=True):
            if bound is not None:
                value = self.bb.normalize(limit(relax.const(bound, dtype), value))
        return value

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
        if node.op_type not in supported and node.op_type not in {"If", "Constant", *_RECURRENT}:
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
