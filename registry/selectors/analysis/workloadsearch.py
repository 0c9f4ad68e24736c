"""All trials of an operator workload as columns, which pages, exports and figures read.

Trials of jobs of private models are among them, without anything that names those models.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, wraps
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import UUID

import numpy as np
from django.db.models import Count, Max
from numpy.typing import NDArray

from registry.selectors.analysis.workload import is_time
from registry.states import TrialOutcome
from registry.tables import ScheduleSketch, ScheduleTask, ScheduleTrial
from registry.traces import Sketch, TraceError, VectorRegisters, WorkloadNames, table_of
from registry.traces.table import DecisionTable

Numbers = NDArray[np.float64]
P = ParamSpec("P")
R = TypeVar("R")

#: Elements of 32 bits in a vector register, by feature of a target; the widest comes first.
_LANES = {"avx512f": 16, "avx512": 16, "avx2": 8, "avx": 8, "asimd": 4, "neon": 4}
#: Searches that stay in memory.
_REMEMBERED = 8
_TIMED = frozenset({TrialOutcome.MEASURED, TrialOutcome.PRUNED})
#: In the order of the fields of :class:`SearchTrial` after its position.
_COLUMNS = (
    "pk", "uuid", "job_id", "number", "sketch_id", "decisions", "proposed_by", "predicted",
    "failure_detail", "seconds", "confirmed", "confirmed_s", "confirmed_at", "duration_s",
    "created_at", "outcome", "median_s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SearchTrial:
    """A trial of a workload.

    Attributes:
        position: In the order in which the trials ended, from 0.
        key: Of its row.
        job: Key of its job, for bands; ``None`` if it was deleted.
        time_s: Median; ``None`` after a failure, and for values that are no times, such as the
            1e10 that TVM writes for a run that did not end.
    """

    position: int
    key: int
    uuid: str
    job: int | None
    number: int
    sketch: int
    decisions: list[Any]
    proposed_by: str
    predicted: float | None
    failure_detail: str
    seconds: list[float]
    confirmed: list[float]
    confirmed_s: float | None
    confirmed_at: datetime | None
    duration_s: float
    created_at: datetime
    outcome: str
    time_s: float | None

    @property
    def is_measured(self) -> bool:
        """Whether it has several times; a pruned one was timed once."""
        return self.time_s is not None and self.outcome == TrialOutcome.MEASURED

    @property
    def failure(self) -> str:
        """Kind of its failure; "" if it has a time."""
        if self.time_s is not None:
            return ""
        return "no valid time" if self.outcome in _TIMED else self.outcome


@dataclass(frozen=True, eq=False)
class WorkloadSearch:
    """The trials of a workload in the order in which they ended.

    Attributes:
        version: Changes with the trials and their confirmations.
        sketches: By key; those that cannot be read are missing.
        answers: Of analyses, see :func:`per_search`.
    """

    version: str
    trials: tuple[SearchTrial, ...]
    sketches: dict[int, Sketch]
    lanes: int
    answers: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def times(self) -> Numbers:
        """Median time of each trial in seconds, NaN without one."""
        values = [np.nan if trial.time_s is None else trial.time_s for trial in self.trials]
        return np.array(values, dtype=np.float64)

    @cached_property
    def is_random(self) -> NDArray[np.bool_]:
        """Mask of the trials that were drawn at random, so that earlier ones did not bias them."""
        return np.array([trial.proposed_by == "random" for trial in self.trials], dtype=bool)

    @cached_property
    def table(self) -> DecisionTable:
        """Decisions of all trials in columns."""
        empty: tuple[int, list[Any]] = (0, [None])
        rows = [
            (trial.sketch, trial.decisions) if trial.sketch in self.sketches else empty
            for trial in self.trials
        ]
        return table_of({0: Sketch([]), **self.sketches}, rows, VectorRegisters(self.lanes))

    @cached_property
    def timed(self) -> list[SearchTrial]:
        """Trials with a time, fastest first."""
        rows = [trial for trial in self.trials if trial.time_s is not None]
        return sorted(rows, key=lambda trial: (trial.time_s or 0.0, trial.position))

    @property
    def best(self) -> SearchTrial | None:
        """The newest confirmed trial, or else the fastest measured one."""
        confirmed = [trial for trial in self.trials if trial.confirmed_at is not None]
        if confirmed:
            return max(confirmed, key=lambda trial: (str(trial.confirmed_at), trial.position))
        return next((trial for trial in self.timed if trial.is_measured), None)


#: Searches that were read last, by their workload.
_READ: OrderedDict[UUID, WorkloadSearch] = OrderedDict()
_LOCK = Lock()


def search_version(task: ScheduleTask) -> str:
    """A cache validator; it changes when a trial is added or confirmed, or names are stored."""
    newest = task.trials.aggregate(n=Count("pk"), last=Max("pk"), at=Max("confirmed_at"))
    at = newest["at"].timestamp() if newest["at"] else 0
    return f"{task.uuid}.{newest['n']}.{newest['last'] or 0}.{at:.6f}.{len(task.blocks)}"


def search_of(task: ScheduleTask) -> WorkloadSearch:
    """The trials of a workload that the caller may read.

    The process keeps those that were read last. Of a search that goes on, only the new trials and
    the confirmed ones are read.
    """
    version = search_version(task)
    with _LOCK:
        before = _READ.get(task.uuid)
    if before is not None and before.version == version:
        return before
    search = _read(task, version, before)
    with _LOCK:
        _READ[task.uuid] = search
        _READ.move_to_end(task.uuid)
        while len(_READ) > _REMEMBERED:
            _READ.popitem(last=False)
    return search


def _read(task: ScheduleTask, version: str, before: WorkloadSearch | None) -> WorkloadSearch:
    rows = ScheduleTrial.objects.filter(task=task)
    trials: list[SearchTrial] = []
    if before is not None and before.trials:
        last = before.trials[-1].key
        # Trials may be deleted, and transactions may commit in another order than they began.
        if rows.filter(pk__lte=last).count() == len(before.trials):
            trials = list(before.trials)
            places = {trial.key: trial.position for trial in trials}
            confirmed = rows.filter(pk__lte=last, confirmed_at__isnull=False)
            for row in confirmed.values_list(*_COLUMNS):
                trials[places[row[0]]] = _trial(places[row[0]], row)
            rows = rows.filter(pk__gt=last)
    new = rows.order_by("id").values_list(*_COLUMNS)
    trials += [
        _trial(at, row) for at, row in enumerate(new.iterator(chunk_size=5000), start=len(trials))
    ]
    instructions = ScheduleSketch.objects.filter(pk__in={trial.sketch for trial in trials})
    names, sketches = WorkloadNames(task.blocks), {}
    for sketch in instructions:
        try:
            sketches[sketch.pk] = Sketch(sketch.instructions, names)
        except TraceError:
            continue
    return WorkloadSearch(version, tuple(trials), sketches, lanes_of(task.target.features))


def lanes_of(features: list[str]) -> int:
    """Elements of 32 bits in the widest vector register of a target; 0 if it is not stated."""
    return next((lanes for name, lanes in _LANES.items() if name in features), 0)


def _trial(position: int, row: tuple[Any, ...]) -> SearchTrial:
    key, uuid, *columns, outcome, median_s = row
    time_s = float(median_s) if is_time(outcome, median_s) else None
    values: list[Any] = [position, key, str(uuid), *columns, outcome, time_s]
    return SearchTrial(*values)


def per_search(
    function: Callable[Concatenate[WorkloadSearch, P], R],
) -> Callable[Concatenate[WorkloadSearch, P], R]:
    """Decorator of an analysis, whose answers are kept with the search as long as it is."""

    @wraps(function)
    def wrapper(search: WorkloadSearch, /, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (function.__qualname__, args, tuple(kwargs.items()))
        if key not in search.answers:
            search.answers[key] = function(search, *args, **kwargs)
        answer: R = search.answers[key]
        return answer

    return wrapper
