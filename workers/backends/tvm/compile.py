"""Compiles Relax networks to libraries in a build's child: passes, schedules, code, linking."""

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import tvm
from tvm import IRModule, relax
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.s_tir import dlight
from tvm.tirx import PrimFunc
from tvm_ffi import structural_hash

from workers.backends.tvm import cross, passes
from workers.backends.tvm.database import DatabaseRecord, apply_database
from workers.backends.tvm.errors import reason_of
from workers.engine.errors import InvalidCandidate


class Watch(Protocol):
    """Observer of the network after each pass, used for provenance."""

    def __call__(self, name: str, module: IRModule) -> IRModule:
        """Called with the network after the pass ``name``; returns the network to continue with."""
        ...


@dataclass(slots=True)
class Compiled:
    """A compiled network before linking.

    Attributes:
        scheduled: Key of the schedule by function, for functions with one.
        precisions: Number of functions by element type of the result.
        pass_s: Seconds by pass, summed over repetitions; also ``schedules``, ``codegen`` (loops to
            machine code) and ``link``.
    """

    module: IRModule
    executable: Any = None
    scheduled: dict[str, str] = field(default_factory=dict)
    precisions: dict[str, int] = field(default_factory=dict)
    pass_s: dict[str, float] = field(default_factory=dict)


def tensor_program(
    module: IRModule,
    pipeline: passes.Pipeline,
    target: Mapping[str, Any],
    *,
    tunable: bool,
    watch: Watch | None = None,
) -> Compiled:
    """Run the body of a pipeline, after which every operator is a loop nest.

    Args:
        tunable: Whether to mark the buffers of weights, so that schedules can change their layout.
            The marks are part of a loop nest's key, so tuning and applying must agree.

    Raises InvalidCandidate, which names the pass, if a pass failed.
    """
    compiled = Compiled(module)
    with _context(target):
        for name in pipeline.body:
            _run(compiled, name, passes.make(name), watch)
        if target["kind"] == "cuda":
            # GPUs need a schedule for every loop. Constants were folded before, on the processor.
            _run(compiled, "ApplyDefaultSchedule", dlight.ApplyDefaultSchedule(*_cuda_rules()))
        if tunable:
            name = "AttachAttrLayoutFreeBuffers"
            _run(compiled, name, passes.make(name))
    return compiled


def compile_network(
    module: IRModule,
    pipeline: passes.Pipeline,
    target: Mapping[str, Any],
    records: Mapping[str, DatabaseRecord],
    watch: Watch | None = None,
    *,
    machine_code: bool = True,
) -> Compiled:
    """Compile a network with the schedules of ``records``, to machine code if ``machine_code`` is
    set.

    Raises InvalidCandidate, which gives the pass and the reason, if TVM cannot compile it.
    """
    compiled = tensor_program(module, pipeline, target, tunable=bool(records), watch=watch)
    with _context(target):
        if records:
            started = perf_counter()
            compiled.module, compiled.scheduled = apply_database(compiled.module, records)
            compiled.pass_s["schedules"] = perf_counter() - started
            # Convert weights to the layouts of the schedules at compile time, with the pass that
            # the pipeline folds constants with.
            fold = "FoldWeights" if "FoldWeights" in pipeline.names else "FoldConstant"
            clean = ("CanonicalizeBindings", "DeadCodeElimination")
            for name in ("SplitLayoutRewritePreproc", "FillPadding", fold, *clean):
                _run(compiled, name, passes.make(name))
        compiled.precisions = _precisions(compiled.module)
        for name in pipeline.tail:
            _run(compiled, name, passes.make(name), watch)
        if machine_code:
            started = perf_counter()
            compiled.executable = _generate(compiled.module, target)
            compiled.pass_s["codegen"] = perf_counter() - started
    return compiled


def fingerprint(module: IRModule) -> int:
    """A digest that is equal for programs that differ in names of variables and functions only.

    Functions that compute tensor sizes are left out: they follow from the rest, and
    ``VMShapeLower`` writes them in the order of memory addresses.
    """
    digested = {
        name: function.without_attr("global_symbol")
        for name, function in module.functions.items()
        if not _computes_sizes(function)
    }
    builder = relax.BlockBuilder()
    # Named after their contents, since passes number them in the order they visit them.
    names = {
        name: builder.add_func(function, f"f{_digest(function):016x}")
        for name, function in digested.items()
        if isinstance(function, PrimFunc)
    }
    renamed = _RenamedCalls(names)
    functions = {
        names.get(name, name): f if name in names else renamed.visit_expr(f)
        for name, f in digested.items()
    }
    return _digest(IRModule(functions))


@mutator
class _RenamedCalls(PyExprMutator):  # type: ignore[misc]  # TVM has no types
    """Renames the functions in calls."""

    def __init__(self, names: Mapping[Any, Any]) -> None:
        super().__init__()
        self._names = names

    def visit_global_var_(self, name: Any) -> Any:
        return self._names.get(name, name)


def _digest(node: Any) -> int:
    return int(structural_hash(node, map_free_vars=True)) % 2**64


def _computes_sizes(function: Any) -> bool:
    return bool((function.attrs or {}).get("tirx.is_host_func", False))


def export(compiled: Compiled, path: Path, workspace: Path, target: Mapping[str, Any]) -> None:
    """Link a compiled network to the library ``path``, constants included.

    ``workspace`` is an empty folder for object files. Raises InvalidCandidate if no linker is
    installed or linking failed.
    """
    started = perf_counter()
    try:
        if triple := target.get("mtriple"):
            cross.export(compiled.executable, path, workspace, triple)
        else:
            compiled.executable.export_library(str(path), workspace_dir=str(workspace))
    except Exception as error:
        raise InvalidCandidate(f"linking failed: {reason_of(error)}") from error
    compiled.pass_s["link"] = perf_counter() - started


def _generate(module: IRModule, target: Mapping[str, Any]) -> Any:
    try:
        return relax.build(module, tvm.target.Target(dict(target)), relax_pipeline=None)
    except Exception as error:
        raise InvalidCandidate(f"code generation failed: {reason_of(error)}") from error


def _precisions(module: IRModule) -> dict[str, int]:
    functions = [f for f in module.functions.values() if isinstance(f, PrimFunc) and f.params]
    results = Counter(str(function.params[-1].dtype) for function in functions)
    return dict(sorted(results.items()))


def _run(compiled: Compiled, name: str, step: Any, watch: Watch | None = None) -> None:
    started = perf_counter()
    try:
        compiled.module = step(compiled.module)
    except Exception as error:
        raise InvalidCandidate(f"the pass {name} failed: {reason_of(error)}") from error
    seconds = perf_counter() - started
    compiled.pass_s[name] = compiled.pass_s.get(name, 0.0) + seconds
    if watch is not None:
        compiled.module = watch(name, compiled.module)


def _cuda_rules() -> list[Any]:
    """Schedule rules in the order of ``tvm.relax.backend.cuda.pipeline``."""
    gpu = dlight.gpu
    return [gpu.Matmul(), gpu.GEMV(), gpu.Reduction(), gpu.GeneralReduction(), gpu.Fallback()]


def _context(target: Mapping[str, Any]) -> ExitStack:
    stack = ExitStack()
    stack.enter_context(tvm.transform.PassContext(opt_level=3))
    stack.enter_context(tvm.target.Target(dict(target)))
    return stack
