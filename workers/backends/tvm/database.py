"""Tuned schedules: which loop nests they are for, and putting them in.

A schedule file is JSON lines, one :class:`Record` each, at most one per key. Keys are equal for
equal loop nests in every process and every network, so that what was tuned once serves all.
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

#: Attributes of a function that say where it stands in a network, not what it computes.
_CIRCUMSTANCE = ("global_symbol", "op_pattern")


@dataclass(frozen=True, slots=True)
class Record:
    """The best schedule known of a loop nest.

    Attributes:
        key: Of the loop nest, see :func:`workload_key`.
        trace: Of the schedule, as ``Trace.as_json()`` writes it, postprocessing included.
        seconds: One run of it took, where it was tuned.
    """

    key: str
    trace: Any
    seconds: float


def workload_key(function: PrimFunc) -> str:
    """64 hex digits, equal for loop nests that compute the same in the same way.

    SHA-256 of TVM's script of the function, with every name of a variable, buffer and loop
    replaced by its place of first appearance: those are made up from the network's own. Names of
    blocks stay, because schedules find blocks by them; so does what may be laid out anew.
    """
    for attribute in _CIRCUMSTANCE:
        function = function.without_attr(attribute)
    script = function.script(name="main", show_meta=False)
    if "metadata[" in script:
        script = function.script(name="main", show_meta=True)
    tree = _Anonymous().visit(ast.parse(script))
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def read_records(path: Path) -> dict[str, Record]:
    """Records of a schedule file by key.

    Raises:
        InvalidCandidate: it is something else.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [Record(**json.loads(line)) for line in lines if line.strip()]
    except (OSError, UnicodeDecodeError, ValueError, TypeError) as error:
        raise InvalidCandidate(f"{path.name} is no file of schedules: {error}") from error
    return {record.key: record for record in found}


def apply_database(
    module: IRModule, records: Mapping[str, Record]
) -> tuple[IRModule, dict[str, str]]:
    """Put the schedules that records hold into a network.

    Returns:
        The network, and the functions that have a schedule now, each with its key.

    Raises:
        InvalidCandidate: a schedule does not fit the loop nest it is kept for.
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


def _scheduled(function: PrimFunc, record: Record) -> PrimFunc:
    schedule = Schedule(IRModule({"main": function}))
    try:
        Trace.apply_json_to_schedule(record.trace, schedule)
    # What TVM raises has no base below Exception.
    except Exception as error:
        raise InvalidCandidate(f"the schedule kept for {record.key} does not fit") from error
    return schedule.mod["main"].with_attr({"tirx.is_scheduled": True})


class _Anonymous(ast.NodeTransformer):
    """Replaces names that a script binds by their number; leaves modules and attributes alone."""

    _KEPT = frozenset({"T", "I", "R", "True", "False", "None", "range", "metadata"})

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._number(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        annotation = self.visit(node.annotation) if node.annotation else None
        return ast.arg(self._number(node.arg), annotation)

    def _number(self, name: str) -> str:
        if name in self._KEPT:
            return name
        return self._numbers.setdefault(name, f"v{len(self._numbers)}")
