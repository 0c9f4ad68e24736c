"""Loop nests and schedules as objects of MetaSchedule. Runs in children."""

import sys
import types
import zlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.schedule import Trace
from tvm.tirx import FloatImm, IntImm, PrimFunc

from workers.backends.tvm.errors import reason_of
from workers.engine.errors import InvalidCandidate

_INTRINSICS = "tvm.s_tir.tensor_intrin"
#: Module of intrinsics that schedule rules use, by kind of CPU.
_INTRINSICS_OF = {"x86": "x86", "arm": "arm_cpu"}


def prepare(target: Mapping[str, Any]) -> Any:
    """``tvm.target.Target``, with the tensor intrinsics for its schedules only.

    MetaSchedule would import the intrinsics of all accelerators, which takes a minute.
    """
    result = tvm.target.Target(dict(target))
    if target["kind"] == "llvm" and _INTRINSICS not in sys.modules:
        package = types.ModuleType(_INTRINSICS)
        package.__path__ = [str(Path(tvm.__file__).parent / "s_tir" / "tensor_intrin")]
        sys.modules[_INTRINSICS] = package
        import_module(f"{_INTRINSICS}.{_INTRINSICS_OF[_cpu(str(target.get('mcpu', '')))]}")
    return result


def _cpu(mcpu: str) -> str:
    return "x86" if mcpu.startswith("x86") or not mcpu.startswith("generic") else "arm"


def pack(module: Any) -> bytes:
    """A module of one loop nest, as MetaSchedule normalises it, as compressed bytes for
    :func:`unpack`. Uncompressed, they are the JSON of a workload in MetaSchedule's databases."""
    return zlib.compress(tvm.ir.save_json(module).encode(), 9)


def unpack(source: bytes) -> PrimFunc:
    """The loop nest of :func:`pack`; raises InvalidCandidate if the bytes are damaged."""
    try:
        content = tvm.ir.load_json(zlib.decompress(source).decode())
        # Earlier versions stored the function itself.
        function = content["main"] if isinstance(content, tvm.IRModule) else content
    # TVM's exceptions share no base below Exception.
    except Exception as error:
        raise InvalidCandidate(f"not a loop nest: {reason_of(error)}") from error
    if not isinstance(function, PrimFunc):
        raise InvalidCandidate("not a loop nest")
    return function


def context_of(function: PrimFunc, target: Any, strategy: Any, seed: int, threads: int) -> Any:
    """MetaSchedule's tuning context of a loop nest: design space, postprocessors and strategy."""
    return ms.TuneContext(
        function,
        target=target,
        space_generator="post-order-apply",
        search_strategy=strategy,
        task_name="schedule",
        rand_state=seed,
        num_threads=threads,
    )


def scheduled(context: Any, sketch: Sequence[Any], decisions: Sequence[Any]) -> Schedule:
    """The postprocessed schedule of a sketch and decisions; raises InvalidCandidate if they do not
    fit this loop nest."""
    schedule = Schedule(context.mod)
    try:
        Trace.apply_json_to_schedule([list(sketch), list(decisions)], schedule)
        schedule.enter_postproc()
        fits = all(p.apply(schedule) for p in context.space_generator.postprocs)
    # TVM's exceptions share no base below Exception.
    except Exception as error:
        raise InvalidCandidate(f"the schedule does not fit: {reason_of(error)}") from error
    if not fits:
        raise InvalidCandidate("postprocessing refuses the schedule")
    return schedule


def trace_of(schedule: Schedule) -> list[Any]:
    """The complete trace of a schedule as JSON."""
    trace: list[Any] = plain(schedule.trace.as_json())
    return trace


def plain(value: Any) -> Any:
    """TVM's containers and numbers as JSON values."""
    match value:
        case IntImm() | FloatImm():
            return value.value
        case str():
            return str(value)
        case None | bool() | int() | float():
            return value
        case list() | tuple() | tvm_ffi.Array():
            return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} in a trace")
