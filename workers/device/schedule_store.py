"""The engine's schedule store, at the hub."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from workers.device.ports import Hub
from workers.engine.schedules.types import (
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    ScheduleTrial,
    TaskHistory,
    Winner,
)


class JobScheduleStore:
    """A :class:`~workers.engine.schedules.ports.ScheduleStore`; writes under the job's fence."""

    def __init__(self, hub: Hub, toolchain: str) -> None:
        self._hub, self._toolchain = hub, toolchain

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
                "structural_hash": task.structural_hash,
                "blocks": list(task.blocks),
                "compiler_target": task.target,
            }
            source = b64encode(task.source).decode()
            self._hub.write("schedule_task_add", task=columns, source=source, calls=task.calls)

    def history(self, task: ScheduleTask) -> TaskHistory:
        rows = self._hub.read("schedule_trials", toolchain=self._toolchain, key=task.key)
        return _history(rows)

    def similar(self, task: ScheduleTask) -> Sequence[tuple[ScheduleTask, TaskHistory]]:
        rows = self._hub.read("schedules_similar", toolchain=self._toolchain, key=task.key)
        return [(_task(row), _history(row["trials"])) for row in rows]

    def own_trials(self) -> Sequence[ScheduleTrial]:
        return [_trial(row) for row in self._hub.read("schedule_trials_of_job")]

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
        self._hub.write("schedule_trial_add", trial=row)

    def confirm(self, winner: Winner) -> None:
        self._hub.write(
            "schedule_confirm",
            key=winner.candidate.task,
            toolchain=self._toolchain,
            digest=winner.candidate.digest,
            seconds=list(winner.seconds),
            trace=winner.trace,
        )


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
        source=b64decode(row["source"]),
    )


def _history(rows: Sequence[dict[str, Any]]) -> TaskHistory:
    trials = [_trial(row) for row in rows]
    confirmed = [row for row in rows if row["confirmed"]]
    if not confirmed:
        return TaskHistory(trials)
    newest = max(confirmed, key=lambda row: datetime.fromisoformat(row["confirmed_at"]))
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
