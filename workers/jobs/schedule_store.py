"""The engine's schedule store, over the hub's services."""

from collections.abc import Sequence
from typing import Any

from registry.errors import Conflict
from registry.selectors.results.schedule import (
    schedule_trials,
    schedule_trials_of_job,
    schedules_similar,
)
from registry.services.results.schedule import (
    schedule_confirm,
    schedule_task_add,
    schedule_trial_add,
)
from registry.tickets import JobTicket
from workers.engine.errors import LeaseLost
from workers.engine.schedules.types import (
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    ScheduleTrial,
    TaskHistory,
    Winner,
)


class RegistryScheduleStore:
    """A :class:`~workers.engine.schedules.ports.ScheduleStore`; writes under the job's fence."""

    def __init__(self, ticket: JobTicket, target: str, toolchain: str) -> None:
        self._job_uuid, self._fence = ticket.job_uuid, ticket.fence
        self._target, self._toolchain = target, toolchain

    def add_tasks(self, tasks: Sequence[ScheduleTask]) -> None:
        """Store the network's workloads; raises ``LeaseLost``."""
        for task in tasks:
            columns = {
                "key": task.key,
                "toolchain": self._toolchain,
                "name": task.name[:200],
                "anchor": task.anchor,
                "arguments": list(task.arguments),
                "flops": task.flops,
                "features": list(task.features),
            }
            try:
                schedule_task_add(
                    job_uuid=self._job_uuid,
                    fence=self._fence,
                    task=columns,
                    source=task.source,
                    calls=task.calls,
                )
            except Conflict as error:
                raise LeaseLost(str(error)) from error

    def history(self, task: ScheduleTask) -> TaskHistory:
        return _history(schedule_trials(self._target, self._toolchain, task.key))

    def similar(self, task: ScheduleTask) -> Sequence[tuple[ScheduleTask, TaskHistory]]:
        rows = schedules_similar(self._target, self._toolchain, task.key)
        return [(_task(row), _history(row["trials"])) for row in rows]

    def own_trials(self) -> Sequence[ScheduleTrial]:
        return [_trial(row) for row in schedule_trials_of_job(self._job_uuid)]

    def add(self, trial: ScheduleTrial) -> None:
        candidate, result = trial.candidate, trial.result
        row = {
            "key": candidate.task,
            "toolchain": self._toolchain,
            "number": trial.number,
            "sketch": candidate.sketch,
            "decisions": candidate.decisions,
            "digest": candidate.digest,
            "proposed_by": candidate.proposed_by,
            "predicted": candidate.predicted,
            "outcome": result.outcome,
            "failure_detail": result.detail,
            "seconds": list(result.seconds),
            "duration_s": result.duration_s,
        }
        try:
            schedule_trial_add(job_uuid=self._job_uuid, fence=self._fence, trial=row)
        except Conflict as error:
            raise LeaseLost(str(error)) from error

    def confirm(self, winner: Winner) -> None:
        try:
            schedule_confirm(
                job_uuid=self._job_uuid,
                fence=self._fence,
                key=winner.candidate.task,
                toolchain=self._toolchain,
                digest=winner.candidate.digest,
                seconds=winner.seconds,
                trace=winner.trace,
            )
        except Conflict as error:
            raise LeaseLost(str(error)) from error


def _task(row: dict[str, Any]) -> ScheduleTask:
    """A workload of another network, without calls by this one."""
    return ScheduleTask(
        key=row["key"],
        name=row["name"],
        anchor=row["anchor"],
        arguments=tuple(row["arguments"]),
        flops=row["flops"],
        calls=0,
        features=tuple(row["features"]),
        source=row["source"],
    )


def _history(rows: Sequence[dict[str, Any]]) -> TaskHistory:
    trials = [_trial(row) for row in rows]
    confirmed = [row for row in rows if row["confirmed"]]
    if not confirmed:
        return TaskHistory(trials)
    newest = max(confirmed, key=lambda row: row["confirmed_at"])
    candidate = _trial(newest).candidate
    return TaskHistory(trials, Winner(candidate, tuple(newest["confirmed"]), newest["trace"]))


def _trial(row: dict[str, Any]) -> ScheduleTrial:
    candidate = ScheduleCandidate(
        row["key"], row["sketch"], row["decisions"], row["proposed_by"], row["predicted"]
    )
    result = ScheduleOutcome(
        row["outcome"], tuple(row["seconds"]), row["duration_s"], row["failure_detail"]
    )
    return ScheduleTrial(row["number"], candidate, result)
