"""Extracts the loop nests of a network that schedules are searched for. Runs in a child."""

import workers.backends.tvm.without_torch  # noqa: F401  before TVM

# isort: split
import re
from collections import Counter
from collections.abc import Mapping
from math import log1p, prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.s_tir import analysis
from tvm.s_tir import meta_schedule as ms
from tvm.tirx import IntImm, PrimFunc
from tvm.tirx.buffer import BufferType

from workers.backends.tvm.artefact import imported_of
from workers.backends.tvm.compile import tensor_program
from workers.backends.tvm.database import workload_key
from workers.backends.tvm.passes import pipeline_of
from workers.backends.tvm.space import FIXED, passes_for_tuning
from workers.backends.tvm.targets import target_of
from workers.backends.tvm.tuning.blocks import blocks_of
from workers.backends.tvm.tuning.workload import pack
from workers.engine.child_work import network_from, target_from

_OWNER = re.compile(r"onnx\d+_")
#: Prefix of loop nests that TVM replaces by calls without copies.
_FREE = "reshape"
#: Number of dimension sizes among a workload's features, padded with 0.
_DIMENSIONS = 16


def tasks(
    *, network: Mapping[str, Any], target: Mapping[str, Any], passes: str
) -> list[dict[str, Any]]:
    """Loop nests of a network, each with its number of calls per run.

    ``passes`` as in :func:`workers.backends.tvm.tuning.handover.tasks_of`. Raises InvalidCandidate
    if TVM does not support the network.
    """
    model = network_from(network)
    imported = imported_of(model, {"shapes": FIXED})
    named = target_of(target_from(target))
    pipeline = pipeline_of(passes or passes_for_tuning(model))
    program = tensor_program(imported, pipeline, named, tunable=True).module
    calls = _calls(program)
    nests: dict[str, dict[str, Any]] = {}
    for variable, function in program.functions_items():
        count = calls[variable.name_hint]
        if not isinstance(function, PrimFunc) or not count or not _tunable(function):
            continue
        if variable.name_hint.startswith(_FREE):
            continue
        task = describe(variable.name_hint, function, count) | {"target": dict(named)}
        if equal := nests.get(task["key"]):
            equal["calls"] += count
        else:
            nests[task["key"]] = task
    return list(nests.values())


def describe(name: str, function: PrimFunc, calls: int) -> dict[str, Any]:
    """A loop nest as the fields of ``ScheduleTask``, its source as an array of bytes."""
    infos = ms.arg_info.ArgInfo.from_prim_func(function)
    shapes = [[int(size) for size in info.shape] for info in infos]
    arguments = [
        {"dtype": str(info.dtype), "shape": shape}
        for info, shape in zip(infos, shapes, strict=True)
    ]
    elements = sum(map(prod, shapes))
    module = ms_module(function)
    # Copies without arithmetic take time per element.
    flops = max(float(analysis.estimate_tir_flops(module)), float(elements))
    sizes = [size for shape in shapes for size in shape][:_DIMENSIONS]
    padded = sizes + [0] * (_DIMENSIONS - len(sizes))
    return {
        "key": workload_key(function),
        "name": name,
        "anchor": _anchor(module, name),
        "arguments": arguments,
        "flops": flops,
        "calls": calls,
        "features": [log1p(flops), log1p(elements), *map(log1p, padded)],
        "source": np.frombuffer(pack(module), np.uint8),
        "structural_hash": ms.database.Workload(module).as_json()[0],
        "blocks": blocks_of(module),
    }


def ms_module(function: PrimFunc) -> Any:
    """A module with this function only, normalised as by MetaSchedule."""
    return ms.tune_context._normalize_mod(function)  # noqa: SLF001  as TuneContext


def _anchor(module: Any, name: str) -> str:
    """Name of the main block; of the function if there is none."""
    block = analysis.find_anchor_sblock(module)
    anchor = str(block.name_hint if block is not None else name.rstrip("0123456789_"))
    # Names of reductions contain that of their input, which contains its node.
    return _OWNER.sub("", anchor)[:64]


def _tunable(function: PrimFunc) -> bool:
    """Whether all loops have static lengths and the function is not scheduled yet."""
    if function.attrs and function.attrs.get("tirx.is_scheduled", False):
        return False
    return all(
        isinstance(parameter.ty, BufferType)
        and all(isinstance(size, int | IntImm) for size in parameter.ty.shape)
        for parameter in function.params
    )


def _calls(program: Any) -> Counter[str]:
    """Number of calls of each loop nest in the network's main function."""
    counts: Counter[str] = Counter()

    def count(expression: Any) -> None:
        if isinstance(expression, relax.Call) and str(expression.op.name).startswith(
            "relax.call_tir"
        ):
            counts[expression.args[0].name_hint] += 1

    relax.analysis.post_order_visit(program["main"], count)
    return counts
