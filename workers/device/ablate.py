"""Ablation jobs: what each decision of the best schedule of a workload saves."""

from typing import Any

from workers.backends.tvm.tuning.alternatives import reversals
from workers.device.ports import DeviceSettings, Hub
from workers.device.workload import JobWorkload, compiler_of
from workers.engine.ports import PhaseTime
from workers.engine.schedules.ablation import CONTROL, AblationResult, ablate
from workers.fleet.probe import ThisMachine


def work(hub: Hub, settings: DeviceSettings, here: ThisMachine) -> dict[str, Any]:
    """Revert the decisions of the best schedule one by one; returns a summary.

    Queues a search of configurations if a variant proved better.

    Raises:
        JobFailure: see :class:`workers.device.workload.JobWorkload`.
        ReferenceFailed, InfrastructureFailed, CandidateFailed: see
            :func:`workers.engine.schedules.ablation.ablate`.
        LeaseLost, Cancelled: see :class:`~workers.device.ports.Hub`; also if the job yields to a
            search.
    """
    workload = JobWorkload(hub, here)
    variants = reversals(workload.best.candidate, workload.history.trials)

    def progress(
        phase: str, done: int, total: int | None, message: str, phase_time: PhaseTime | None = None
    ) -> None:
        hub.progress(phase, done, total, message, phase_time)
        hub.give_way()

    with compiler_of(hub, settings, here) as compiler:
        result = ablate(
            workload.task,
            workload.best,
            variants,
            compiler,
            workload,
            workload.budget,
            progress=progress,
        )
    hub.write("note", message=result.stop_reason)
    if result.winner is not None:
        hub.write("plan_follow_up")
    return {
        "summary": _summary(workload.task.name, result),
        "ended": result.stop_reason,
        "variants": len(result.measured),
        "improved": int(result.winner is not None),
        "tools": workload.tools,
    }


def _summary(name: str, result: AblationResult) -> str:
    slower = [
        each.result.ratio.value
        for each in result.measured
        if each.result.verdict == "slower" and each.result.ratio is not None
    ]
    count = sum(each.reversal.position != CONTROL for each in result.measured)
    words = f"{len(slower)} of {count} variants of {name} are slower"
    if slower:
        words += f", the slowest by a factor of {max(slower):.3g}"
    return f"{words}; a better one was found" if result.winner else words
