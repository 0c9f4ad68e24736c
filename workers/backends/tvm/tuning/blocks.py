"""Names of the blocks of a loop nest and of their loops. Runs in a child process.

Readers of trials have no TVM: they name decisions by what is stored here.
"""

import workers.backends.tvm.without_torch  # noqa: F401  before TVM

# isort: split
from typing import Any

from tvm.s_tir import Schedule

_KINDS = {0: "spatial", 2: "reduction"}
_ROOT = "root"


def blocks_of(module: Any) -> list[dict[str, Any]]:
    """Blocks in the order of the program, of the only function of a module.

    Returns:
        ``{"name", "axes": [{"name", "kind", "extent"}], "consumers": [names]}`` each; ``kind`` is
        ``spatial``, ``reduction`` or "" for other loops.
    """
    schedule = Schedule(module)
    blocks = schedule.get_child_blocks(schedule.get_sblock(_ROOT))
    return [_described(schedule, block) for block in blocks]


def _described(schedule: Schedule, block: Any) -> dict[str, Any]:
    inside = schedule.get(block)
    kinds = [_KINDS.get(int(each.iter_type), "") for each in inside.iter_vars]
    loops = [schedule.get(loop) for loop in schedule.get_loops(block)]
    # A block may bind other values than its loops one by one.
    if len(kinds) != len(loops):
        kinds = [""] * len(loops)
    consumers = [str(schedule.get(each).name_hint) for each in schedule.get_consumers(block)]
    axes = [
        {"name": str(loop.loop_var.name), "kind": kind, "extent": int(loop.extent)}
        for loop, kind in zip(loops, kinds, strict=True)
    ]
    return {"name": str(inside.name_hint), "axes": axes, "consumers": consumers}
