"""A schedule store that needs no hub."""

from collections.abc import Sequence
from math import dist

from workers.engine.schedules.types import ScheduleTask, ScheduleTrial, TaskHistory, Winner


class MemoryScheduleStore:
    """A :class:`~workers.engine.schedules.ports.ScheduleStore` in memory. ``tasks`` are all
    workloads of the searches that use this store."""

    def __init__(self, tasks: Sequence[ScheduleTask]) -> None:
        self._tasks = {task.key: task for task in tasks}
        self._trials: list[ScheduleTrial] = []
        self._winners: dict[str, Winner] = {}

    def history(self, task: ScheduleTask) -> TaskHistory:
        trials = [trial for trial in self._trials if trial.candidate.task == task.key]
        return TaskHistory(trials, self._winners.get(task.key))

    def similar(self, task: ScheduleTask) -> Sequence[tuple[ScheduleTask, TaskHistory]]:
        others = [
            other
            for other in self._tasks.values()
            if other.anchor == task.anchor and other.key != task.key
        ]
        others.sort(key=lambda other: (dist(other.features, task.features), other.key))
        histories = [(other, self.history(other)) for other in others]
        return [(other, history) for other, history in histories if history.trials]

    def own_trials(self) -> Sequence[ScheduleTrial]:
        return tuple(self._trials)

    def add(self, trial: ScheduleTrial) -> None:
        self._trials.append(trial)

    def confirm(self, winner: Winner) -> None:
        self._winners[winner.candidate.task] = winner
