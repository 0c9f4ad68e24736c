"""Applies tuned schedules to loop nests.

A schedule file contains JSON lines, one :class:`DatabaseRecord` each, at most one per key. Keys are
equal for equal loop nests in all processes and networks, so schedules are shared between networks.
"""

import ast
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvm import IRModule
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Trace
from tvm.tirx import PrimFunc

from workers.engine.errors import InvalidCandidate

#: Attributes that depend on a function's place in a network, not on what it computes.
_CIRCUMSTANCE = ("global_symbol", "op_pattern")


@dataclass(frozen=True, slots=True)
class DatabaseRecord:
    """The best measured schedule of a loop nest.

    Attributes:
        key: Key of the loop nest, see :func:`workload_key`.
        trace: Trace of the schedule as by ``Trace.as_json()``, postprocessing included.
        seconds: Duration of a run when it was tuned.
    """

    key: str
    trace: Any
    seconds: float


def workload_key(function: PrimFunc) -> str:
    """A digest of 64 hex digits that is equal for equal loop nests.

    SHA-256 of TVM's script of the function, in which names of variables, buffers and loops are
    replaced by the order of their first occurrence, since they derive from the network's names.
    Names of blocks, by which schedules find them, and marks of weights are included.
    """
    for attribute in _CIRCUMSTANCE:
        function = function.without_attr(attribute)
    script = function.script(name="main", show_meta=False)
    if "metadata[" in script:
        script = function.script(name="main", show_meta=True)
    tree = _NumberedNames().visit(ast.parse(script))
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def read_records(path: Path) -> dict[str, DatabaseRecord]:
    """Records of a schedule file by key; raises InvalidCandidate if it is damaged."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        records = [DatabaseRecord(**json.loads(line)) for line in lines if line.strip()]
    except (OSError, UnicodeDecodeError, ValueError, TypeError) as error:
        raise InvalidCandidate(f"{path.name} is no file of schedules: {error}") from error
    return {record.key: record for record in records}


def apply_database(
    module: IRModule, records: Mapping[str, DatabaseRecord]
) -> tuple[IRModule, dict[str, str]]:
    """Apply the schedules of records to a network.

    Returns the network, and keys by function for those with a schedule. Raises InvalidCandidate if
    a schedule does not fit its loop nest.
    """
    changed, applied = IRModule(dict(module.functions_items()), attrs=module.attrs), {}
    for variable, function in module.functions_items():
        if not isinstance(function, PrimFunc):
            continue
        key = workload_key(function)
        if key in records:
            changed.update_func(variable, _scheduled(function, records[key]))
            applied[variable.name_hint] = key
    return changed, applied


def _scheduled(function: PrimFunc, record: DatabaseRecord) -> PrimFunc:
    schedule = Schedule(IRModule({"main": function}))
    try:
        Trace.apply_json_to_schedule(record.trace, schedule)
    # TVM's exceptions share no base below Exception.
    except Exception as error:
        raise InvalidCandidate(f"the stored schedule of {record.key} does not fit") from error
    return schedule.mod["main"].with_attr({"tirx.is_scheduled": True})


class _NumberedNames(ast.NodeTransformer):
    """Replaces names bound in a script by numbers; modules and attributes stay."""

    _GLOBALS = frozenset({"T", "I", "R", "True", "False", "None", "range", "metadata"})

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._number(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        annotation = self.visit(node.annotation) if node.annotation else None
        return ast.arg(self._number(node.arg), annotation)

    def _number(self, name: str) -> str:
        if name in self._GLOBALS:
            return name
        return self._numbers.setdefault(name, f"v{len(self._numbers)}")
