"""Names of Relax variables that encode the ONNX nodes they belong to."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tvm import IRModule, relax
from tvm.relax.expr_functor import PyExprMutator, mutator

_OWNED = re.compile(r"onnx(\d+(?:n\d+)*)")


def owners_of(name: str) -> tuple[int, ...] | None:
    """Nodes encoded in the name of a variable; ``None`` if the name encodes none."""
    match = _OWNED.fullmatch(name)
    return tuple(map(int, match[1].split("n"))) if match else None


def rename(module: IRModule, owners: Mapping[Any, Sequence[int]]) -> IRModule:
    """Rename variables of ``main`` after their owners, the nodes by variable."""
    if not owners:
        return module
    main = _Renamer(module, owners).visit_expr(module["main"])
    renamed = IRModule(dict(module.functions_items()), attrs=module.attrs)
    renamed.update_func(renamed.get_global_var("main"), main)
    return renamed


@mutator
class _Renamer(PyExprMutator):  # type: ignore[misc]  # TVM has no types
    """Renames variables after their owners."""

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
