"""A pass that folds all constants of a network at once.

TVM's ``FoldConstant`` compiles each operation on constants separately, about a tenth of a second
each: most of the compile time of networks with many convolutions, whose normalisations and layouts
are such operations. This pass compiles and runs all of them as one program.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import tvm
from tvm import IRModule, relax
from tvm.ir import GenericConst, GlobalVar, Op
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.tirx import IntImm, PrimFunc

#: Most elements of folded constants that have no tensor inputs, as in TVM's pass.
_MOST_MADE = 1024
_CALL = "relax.call_tir"
#: The program runs only once, so optimisation does not pay off.
_TARGET = {"kind": "llvm", "opt-level": 0}


def fold_weights(module: IRModule, lower: Callable[[IRModule], IRModule]) -> IRModule:
    """Fold all operations of ``main`` that depend on constants only.

    ``lower`` converts operators to calls that the virtual machine runs. Branches and tensors of
    unknown size are not folded.
    """
    main = module["main"]
    constants = _ConstantBindings(module)
    for block in main.body.blocks:
        for binding in block.bindings:
            constants.add(binding)
    used = constants.used_by(main.body.body)
    if not used:
        return module
    values = _computed(module, constants, used, lower)
    folded = IRModule(dict(module.functions_items()), attrs=module.attrs)
    changed = _Replaced(module, constants.bindings, values).visit_expr(main)
    folded.update_func(folded.get_global_var("main"), changed)
    return folded


class _ConstantBindings:
    """Bindings of a function that depend on constants only, by variable, in order."""

    def __init__(self, module: IRModule) -> None:
        self.bindings: dict[Any, Any] = {}
        self._module = module
        self._used: dict[Any, None] = {}

    def add(self, binding: Any) -> None:
        """Process the next binding of the function."""
        if isinstance(binding, relax.VarBinding) and self._is_foldable(binding):
            self.bindings[binding.var] = binding
        else:
            self._use(binding.value)

    def used_by(self, result: Any) -> list[Any]:
        """Variables of these bindings that the rest of the function or its result uses."""
        self._use(result)
        return list(self._used)

    def _use(self, value: Any) -> None:
        free = relax.analysis.free_vars(value)
        self._used |= {used: None for used in free if used in self.bindings}

    def _is_foldable(self, binding: Any) -> bool:
        value, kind = binding.value, binding.var.ty
        if isinstance(value, relax.TupleGetItem):
            return self._is_constant(value.tuple_value)
        if not isinstance(value, relax.Call) or not isinstance(value.op, Op):
            return False
        if not _is_sized(kind) or not all(map(self._is_constant, value.args)):
            return False
        if value.op.name == _CALL:
            called = value.args[0]
            return isinstance(called, GlobalVar) and isinstance(self._module[called], PrimFunc)
        evaluable = value.op.get_attr("FLegalize") is not None and bool(
            value.op.get_attr("FPurity")
        )
        return evaluable and (any(map(_has_tensor, value.args)) or _elements(kind) <= _MOST_MADE)

    def _is_constant(self, value: Any) -> bool:
        if isinstance(value, relax.Tuple):
            return all(map(self._is_constant, value.fields))
        if isinstance(value, relax.Var):
            return value in self.bindings
        return not isinstance(value, relax.Call) and not relax.analysis.free_vars(value)


@mutator
class _Replaced(PyExprMutator):  # type: ignore[misc]  # TVM has no types
    """Replaces variables by values and removes the bindings they were computed by."""

    def __init__(
        self, module: IRModule, removed: Mapping[Any, Any], values: Mapping[Any, Any]
    ) -> None:
        super().__init__(module)
        self._removed = removed
        self._values = values

    def visit_var_binding_(self, binding: Any) -> None:
        if binding.var not in self._removed:
            super().visit_var_binding_(binding)

    def visit_var_(self, var: Any) -> Any:
        return self._values[var] if var in self._values else super().visit_var_(var)

    def visit_dataflow_var_(self, var: Any) -> Any:
        return self._values[var] if var in self._values else super().visit_dataflow_var_(var)


def _computed(
    module: IRModule,
    constants: _ConstantBindings,
    used: list[Any],
    lower: Callable[[IRModule], IRModule],
) -> dict[Any, Any]:
    """The values of variables, as constants."""
    result = relax.Tuple(used)
    output = relax.Var("values", result.ty)
    bindings = [*constants.bindings.values(), relax.VarBinding(output, result)]
    body = relax.SeqExpr([relax.DataflowBlock(bindings)], output)
    functions = {
        name: function
        for name, function in module.functions_items()
        if isinstance(function, PrimFunc)
    }
    main = relax.Function([], body, output.ty).with_attr("global_symbol", "main")
    program = IRModule({**functions, GlobalVar("main"): main})
    target = tvm.target.Target(_TARGET)
    with target:
        lowered = lower(relax.transform.DeadCodeElimination()(program))
    executable = relax.build(lowered, target, relax_pipeline=None)
    values = relax.VirtualMachine(executable, tvm.cpu())["main"]()
    return {var: _constant(value) for var, value in zip(used, values, strict=True)}


def _constant(value: Any) -> Any:
    if isinstance(value, tvm.runtime.Tensor):
        return relax.const(value)
    return relax.Tuple([_constant(field) for field in value])


def _has_tensor(argument: Any) -> bool:
    return isinstance(argument, GenericConst | relax.Var | relax.Tuple)


def _is_sized(kind: Any) -> bool:
    if isinstance(kind, relax.TupleType):
        return all(map(_is_sized, kind.fields))
    if not isinstance(kind, relax.TensorType) or not isinstance(kind.shape, relax.ShapeExpr):
        return False
    return all(isinstance(size, IntImm) for size in kind.shape)


def _elements(kind: Any) -> int:
    """Number of elements of a tensor of known size, or of all tensors of a tuple."""
    if isinstance(kind, relax.TupleType):
        return sum(map(_elements, kind.fields))
    return prod(map(int, kind.shape))
