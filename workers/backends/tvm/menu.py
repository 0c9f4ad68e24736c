"""TVM's passes as a menu. Knows no TVM: studies read it in the worker."""

from collections.abc import Sequence

from workers.backends.tvm import passes
from workers.backends.tvm.space import DATABASE, FIXED, default_of
from workers.engine.passes.menu import Menu, Passes
from workers.engine.types import Options, TargetSpec, Workload


def menu_of(workload: Workload, target: TargetSpec) -> Menu:
    """All passes for networks of fixed shapes, with the schedules tuned for this one if any."""
    options: Options = {**default_of(workload, target), "shapes": FIXED}
    del options["passes"]
    if workload.schedules_path is not None:
        options["schedules"] = DATABASE
    return Menu(
        options=options,
        default=passes.DEFAULT,
        full=passes.FULL,
        needed=frozenset({"LegalizeOps"}),
        legal=passes.is_legal,
        leave_out=_leave_out,
        ordered=True,
        nothing="LegalizeOps",
        more=("ConvertLayout",) if "Conv" in workload.operators else (),
    )


def _leave_out(names: Sequence[str], dropped: str) -> Passes:
    return passes.without(names, dropped) if dropped in names else tuple(names)
