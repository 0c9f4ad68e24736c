"""ONNX into Relax, remembering which node of the graph every operation came from.

Method A of provenance starts here: TVM's importer keeps no names, so each node's results are bound
while it is converted, and the numbers of the names handed out meanwhile form an interval that no
other node's names fall into. Runs in the limited child process of a build.
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
from workers.engine.errors import InvalidCandidate
from workers.engine.types import TensorSpec

#: The domains whose operators TVM's importer means by a bare name.
_DOMAINS = frozenset({"", "ai.onnx", "com.microsoft"})
_TAKE, _RELU = Op.get("relax.take"), Op.get("relax.nn.relu")
_NUMBERED = re.compile(r"(?:lv|gv)(\d*)")
_OWNED = re.compile(r"onnx(\d+(?:n\d+)*)")


def import_model(
    path: Path, inputs: Sequence[TensorSpec], sizes: Mapping[str, int] | None
) -> IRModule:
    """Read an ONNX file with its external data into a network in Relax.

    Its function ``main`` takes the graph's inputs in order; each variable that a node of the graph
    bound is named after it (:func:`owners_of`).

    Args:
        inputs: The graph's inputs; their named dimensions become symbols.
        sizes: Of the named dimensions, to make a network of fixed shapes instead.

    Raises:
        InvalidCandidate: the file or something in it is nothing TVM can take; names the operator.
    """
    model = _read(path)
    _check(model)
    importer = _Importer(_shapes(inputs, sizes), {spec.name: spec.dtype for spec in inputs})
    opset = next((o.version for o in model.opset_import if o.domain in {"", "ai.onnx"}), 1)
    try:
        # It prints what it fails on, weights included.
        with redirect_stdout(io.StringIO()):
            module = importer.from_onnx(model.graph, opset)
    except InvalidCandidate:
        raise
    except Exception as error:
        raise InvalidCandidate(f"TVM cannot import this network: {reason_of(error)}") from error
    if module["main"].attrs["num_input"] != len(inputs):
        raise InvalidCandidate("TVM sees other inputs in this network than there are")
    module["main"] = _Corrected(module).visit_expr(module["main"])
    return _named(module, importer.owners())


def owners_of(name: str) -> tuple[int, ...] | None:
    """The nodes that a variable of this name belongs to; ``None`` if nobody named it yet."""
    found = _OWNED.fullmatch(name)
    return tuple(map(int, found[1].split("n"))) if found else None


def rename(module: IRModule, owners: Mapping[Any, Sequence[int]]) -> IRModule:
    """``module`` with variables of ``main`` named after their owners.

    Args:
        owners: Variable to its nodes.
    """
    if not owners:
        return module
    main = _Renamer(module, owners).visit_expr(module["main"])
    renamed = IRModule(dict(module.functions_items()), attrs=module.attrs)
    renamed.update_func(renamed.get_global_var("main"), main)
    return renamed


def _named(module: IRModule, owners: Mapping[str, int]) -> IRModule:
    """``module`` with variables named after the nodes they were made for."""
    variables = (b.var for block in module["main"].body.blocks for b in block.bindings)
    return rename(module, {v: (owners[v.name],) for v in variables if v.name in owners})


@mutator
class _Renamer(PyExprMutator):  # type: ignore[misc]  # TVM has no types
    """Names variables after their owners."""

    def __init__(self, module: IRModule, owners: Mapping[Any, Sequence[int]]) -> None:
        super().__init__(module)
        self._owners = owners

    def visit_var_def_(self, var: Any) -> Any:
        return self._renamed(var, relax.Var)

    def visit_dataflow_var_def_(self, var: Any) -> Any:
        return self._renamed(var, relax.DataflowVar)

    def _renamed(self, var: Any, kind: Any) -> Any:
        nodes = self._owners.get(var)
        if not nodes:
            return var
        renamed = kind("onnx" + "n".join(map(str, nodes)), var.ty)
        self.set_var_remap(var, renamed)
        return renamed


@mutator
class _Corrected(PyExprMutator):  # type: ignore[misc]  # TVM has no types
    """Rewrites what the importer makes of two operators, at no cost when a network runs.

    Rows of tables are looked up within the table: the importer has indices trusted, so that one
    from outside reads whatever memory it hits. And ReLU hands NaN on: TVM's maximum gives its
    second operand where they do not compare.
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
    """TVM's importer, with an interval of names for each node; nodes are named by position."""

    def __init__(self, shapes: dict[str, list[Any]], dtypes: dict[str, str]) -> None:
        super().__init__(shapes, dtypes)
        #: Node to the numbers between which its names lie.
        self._intervals: dict[int, tuple[int, int]] = {}

    def owners(self) -> dict[str, int]:
        """Name of a variable to the node it was made for."""
        return {
            name: index
            for index, (low, high) in self._intervals.items()
            for name in (f"lv{number}" for number in range(low + 1, high))
        }

    def _convert_operator(
        self, op_name: str, inputs: list[Any], attrs: dict[str, Any], opset: int
    ) -> Any:
        low = self._mark()
        try:
            result = self._ours(op_name, inputs, attrs)
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

    def _ours(self, op_name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        """What replaces the importer's own conversion; ``None`` where nothing does."""
        if op_name == "Clip":
            return self._clipped(inputs, attrs)
        if op_name == "Dropout" and attrs["tvm_custom"]["num_outputs"] == 1:
            # The importer's own copies, and makes a mask that ConvertLayout fails on.
            return inputs[0]
        if op_name == "Sum":
            # The importer's own stacks all its inputs in memory first.
            return reduce(lambda one, other: self.bb.normalize(relax.op.add(one, other)), inputs)
        return None

    def _clipped(self, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        """Clip that hands NaN on; ``None`` where bounds are no constants, or no numbers.

        The importer's own calls the loops of maximum and minimum with the value in first place.
        """
        value, *given = inputs
        dtype = value.ty.dtype
        bounds = []
        for name, bound in zip(("min", "max"), (*given, None, None), strict=False):
            known = attrs.get(name) if bound is None else bound
            if isinstance(known, GenericConst):
                known = known.value.numpy().item()
            if not isinstance(known, float | None) or (known is not None and isnan(known)):
                return None
            bounds.append(known)
        for bound, limit in zip(bounds, (relax.op.maximum, relax.op.minimum), strict=True):
            if bound is not None:
                value = self.bb.normalize(limit(relax.const(bound, dtype), value))
        return value

    def _bound(self, result: Any) -> Any:
        """``result`` as variables, so that its names are taken now and not by its first user."""
        if isinstance(result, relax.Tuple):
            return relax.Tuple([self._bound(field) for field in result.fields])
        if isinstance(result, relax.Call | relax.TupleGetItem):
            return self.bb.emit(result)
        return result

    def _mark(self) -> int:
        """A number above those of all names handed out and below those to come."""
        found = _NUMBERED.fullmatch(self.bb.get_unique_name("lv"))
        return int(found[1] or 0) if found else 0


def _read(path: Path) -> onnx.ModelProto:
    try:
        model = onnx.load(path)
    # Protobuf's DecodeError has no public base of its own.
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
    """Refuse what the importer would take for something else."""
    known = _get_convert_map()
    nodes = model.graph.node
    if not nodes or not model.graph.output:
        raise InvalidCandidate("the file holds no network")
    functions = {(function.domain, function.name) for function in model.functions}
    for node in nodes:
        if node.domain not in _DOMAINS or (node.domain, node.op_type) in functions:
            raise InvalidCandidate(
                f"TVM has no operator {node.op_type} of the domain {node.domain!r}"
            )
        if node.op_type not in known and node.op_type not in {"If", "Constant"}:
            raise InvalidCandidate(f"TVM has no operator {node.op_type}")


def _shapes(inputs: Sequence[TensorSpec], sizes: Mapping[str, int] | None) -> dict[str, list[Any]]:
    """Shapes of the inputs, with one symbol for each named dimension or its size."""
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
            raise InvalidCandidate(f"input {spec.name} is a {spec.dtype}; TVM takes numbers only")
    return {spec.name: [size_of(size) for size in spec.shape] for spec in inputs}
