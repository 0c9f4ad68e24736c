"""The operator workload of a job: itself, its best schedule, and the results on it at the hub."""

from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hpcfair.isolation.limits import Limits
from hpcfair.measurement.types import Interval
from workers.backends.tvm.targets import target_of
from workers.backends.tvm.tuning.compiler import TvmSchedules
from workers.device.errors import JobFailure
from workers.device.ports import DeviceSettings, Hub
from workers.device.schedule import schedule_toolchain
from workers.device.schedule_store import JobScheduleStore
from workers.device.toolchain import backends_of, other_machine, versions_of
from workers.device.workspace import workspace
from workers.engine.schedules.ablation import AblationBudget, Reversal, ScheduleAblation
from workers.engine.schedules.comparison import ScheduleComparison
from workers.engine.schedules.crossapplication import CrossApplication, ForeignSchedule
from workers.engine.schedules.types import (
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    ScheduleTrial,
    TaskHistory,
    Winner,
)
from workers.fleet.probe import ThisMachine

_BACKEND = "tvm"
#: Limit of one call of the compiler, in seconds.
_WALL_S = 300.0
#: Seconds of a job that somebody requested on a hub that plans none.
_BUDGET_S = 60.0


class JobWorkload:
    """The workload of a job with its schedules; writes under the job's fence.

    Implements :class:`~workers.engine.schedules.crossapplication.CrossApplicationStore`.

    Raises:
        JobFailure: the compiler is not installed, the workload was compiled by another version, or
            no schedule of it is confirmed.
    """

    def __init__(self, hub: Hub, here: ThisMachine) -> None:
        self._hub = hub
        self._row = hub.read("workload_of_job")
        self.tools = _tools(here, str(self._row["toolchain"]))
        self._schedules = JobScheduleStore(hub, self._row["toolchain"])
        self.task = ScheduleTask(
            key=self._row["key"],
            name=self._row["name"],
            anchor=self._row["anchor"],
            arguments=tuple(self._row["arguments"]),
            flops=self._row["flops"],
            calls=1,
            features=tuple(self._row["features"]),
            source=b64decode(self._row["source"]),
        )
        self.history: TaskHistory = self._schedules.history(self.task)
        if self.history.winner is None:
            raise JobFailure("invalid", "invalid_request", "No schedule of it is confirmed.")
        self.best: Winner = self.history.winner

    @property
    def budget(self) -> AblationBudget:
        """The bounds of the job."""
        ticket = self._hub.ticket
        seconds = ticket.parameters.get("budget_s") or ticket.settings.get("ablation_s")
        return AblationBudget(seconds=float(seconds or _BUDGET_S))

    def measured(self) -> Sequence[ScheduleAblation]:
        rows = self._hub.read("ablations_of_job")
        return [
            ScheduleAblation(row["number"], self._reversal(row), _comparison(row))
            for row in rows
            if row["digest"] == self.best.candidate.digest
        ]

    def add(self, ablation: ScheduleAblation) -> None:
        reversal = ablation.reversal
        columns = {
            **self._identity(),
            "number": ablation.number,
            "position": reversal.position,
            "alternative": reversal.value,
            "reason": reversal.reason[:200],
            "variant": reversal.candidate.digest,
            **_columns(ablation.result),
        }
        self._hub.write("ablation_add", ablation=columns)

    def foreign(self) -> list[ForeignSchedule]:
        """The best schedules of the workload on other targets."""
        return [
            ForeignSchedule(
                row["trial"],
                row["target"],
                ScheduleCandidate(self.task.key, row["sketch"], row["decisions"], "transfer"),
            )
            for row in self._hub.read("foreign_schedules_of_job")
        ]

    def applied(self) -> Sequence[CrossApplication]:
        by_trial = {each.trial: each for each in self.foreign()}
        rows = self._hub.read("cross_applications_of_job")
        return [
            CrossApplication(by_trial[row["source"]], _comparison(row))
            for row in rows
            if row["source"] in by_trial and row["digest"] == self.best.candidate.digest
        ]

    def add_application(self, application: CrossApplication) -> None:
        columns = {
            **self._identity(),
            "source": application.foreign.trial,
            **_columns(application.result),
        }
        self._hub.write("cross_application_add", application=columns)

    def offer(self, candidate: ScheduleCandidate, outcome: ScheduleOutcome) -> None:
        own = self._schedules.own_trials()
        if any(trial.candidate.digest == candidate.digest for trial in own):
            return
        number = max((trial.number for trial in own), default=-1) + 1
        self._schedules.add(ScheduleTrial(number, candidate, outcome))

    def confirm(self, winner: Winner) -> None:
        self._schedules.confirm(winner)

    def _identity(self) -> dict[str, Any]:
        return {
            "key": self.task.key,
            "toolchain": self._row["toolchain"],
            "digest": self.best.candidate.digest,
        }

    def _reversal(self, row: dict[str, Any]) -> Reversal:
        best, position, value = self.best.candidate, row["position"], row["alternative"]
        decisions = [list(decision) for decision in best.decisions]
        if position >= 0:
            decisions[position][1] = value
        changed = ScheduleCandidate(best.task, best.sketch, decisions, "ablation")
        return Reversal(position, value, row["reason"], changed)


@contextmanager
def compiler_of(hub: Hub, settings: DeviceSettings, here: ThisMachine) -> Iterator[TvmSchedules]:
    """The compiler of schedules for this machine, in a private workspace."""
    limits = Limits(wall_s=_WALL_S, memory_bytes=settings.child_memory_bytes)
    with (
        workspace(settings.work, hub.ticket.kind) as folder,
        TvmSchedules(
            target_of(here.spec),
            limits=limits,
            scratch=folder,
            threads=here.spec.cores,
            device=other_machine(here),
        ) as compiler,
    ):
        yield compiler


def _tools(here: ThisMachine, toolchain: str) -> dict[str, str]:
    """Versions of the compiler's packages. Raises JobFailure."""
    backends, missing = backends_of(here, [_BACKEND])
    if not backends:
        raise JobFailure("invalid", "no_backend", missing[_BACKEND])
    tools = versions_of(here, backends[_BACKEND])
    if (own := schedule_toolchain(tools)) != toolchain:
        detail = f"The workload was compiled by {toolchain}; this machine has {own}."
        raise JobFailure("invalid", "no_backend", detail)
    return tools


def _columns(result: ScheduleComparison) -> dict[str, Any]:
    ratio = result.ratio
    return {
        "outcome": result.outcome,
        "failure_detail": result.detail,
        "seconds": list(result.seconds),
        "best_seconds": list(result.best_seconds),
        "ratio": ratio and ratio.value,
        "ratio_low": ratio and ratio.low,
        "ratio_high": ratio and ratio.high,
        "verdict": result.verdict,
        "duration_s": result.duration_s,
    }


def _comparison(row: dict[str, Any]) -> ScheduleComparison:
    has_ratio = row["ratio"] is not None
    return ScheduleComparison(
        row["outcome"],
        row["failure_detail"],
        tuple(row["seconds"]),
        tuple(row["best_seconds"]),
        Interval(row["ratio"], row["ratio_low"], row["ratio_high"]) if has_ratio else None,
        row["verdict"],
        row["duration_s"],
    )
