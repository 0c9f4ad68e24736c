"""Cross-application jobs: the best schedules of other targets, measured on this one."""

from typing import Any

from workers.device.ports import DeviceSettings, Hub
from workers.device.workload import JobWorkload, compiler_of
from workers.engine.ports import PhaseTime
from workers.engine.schedules.crossapplication import cross_apply
from workers.fleet.probe import ThisMachine


def work(hub: Hub, settings: DeviceSettings, here: ThisMachine) -> dict[str, Any]:
    """Measure the best schedules of a workload on other targets beside the best of this one;
    returns a summary.

    Queues a search of configurations if one proved better. Raises as
    :func:`workers.device.ablate.work`.
    """
    workload = JobWorkload(hub, here)
    foreign = workload.foreign()

    def progress(
        phase: str, done: int, total: int | None, message: str, phase_time: PhaseTime | None = None
    ) -> None:
        hub.progress(phase, done, total, message, phase_time)
        hub.give_way()

    with compiler_of(hub, settings, here) as compiler:
        applied, winner = cross_apply(
            workload.task,
            workload.best,
            foreign,
            compiler,
            workload,
            workload.budget,
            progress=progress,
        )
    if winner is not None:
        hub.write("plan_follow_up")
    ran = sum(each.result.ratio is not None for each in applied)
    return {
        "summary": f"{ran} of {len(foreign)} schedules of other targets ran {workload.task.name}"
        f"{', one of them faster' if winner else ''}",
        "applied": len(applied),
        "improved": int(winner is not None),
        "tools": workload.tools,
    }
