"""A memory of schedules that needs no hub."""

from collections.abc import Sequence
from math import dist

from workers.engine.schedules.types import Known, ScheduleTask, ScheduleTrial, Winner


class MemoryScheduleStore:
    """A :class:`~workers.engine.schedules.ports.ScheduleStore` gone with the process.

    Args:
        tasks: All workloads that searches over this store are about.
    """

    def __init__(self, tasks: Sequence[ScheduleTask]) -> None:
        self._tasks = {task.key: task for task in tasks}
        self._trials: list[ScheduleTrial] = []
        self._winners: dict[str, Winner] = {}

    def known(self, task: ScheduleTask) -> Known:
        of_task = [trial for trial in self._trials if trial.candidate.task == task.key]
        return Known(of_task, self._winners.get(task.key))

    def similar(self, task: ScheduleTask) -> Sequence[tuple[ScheduleTask, Known]]:
        others = [
            other
            for other in self._tasks.values()
            if other.anchor == task.anchor and other.key != task.key
        ]
        others.sort(key=lambda other: (dist(other.features, task.features), other.key))
        known = [(other, self.known(other)) for other in others]
        return [pair for pair in known if pair[1].trials]

    def own(self) -> Sequence[ScheduleTrial]:
        return tuple(self._trials)

    def add(self, trial: ScheduleTrial) -> None:
        self._trials.append(trial)

    def confirm(self, winner: Winner) -> None:
        self._winners[winner.candidate.task] = winner
