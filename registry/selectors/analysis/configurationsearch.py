"""Statistics of the trials of a search of configurations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from registry.selectors.analysis.evidence import (
    DecisionEvidence,
    FailureCount,
    PredictionRound,
    failure_counts,
    rounds_from,
)
from registry.selectors.work.job import trials_of
from registry.states import ToleranceClass, TrialOutcome
from registry.statistics.association import associations, fastest
from registry.statistics.noise import Likeness, RatioInterval, interval_ratio, likeness
from registry.statistics.progress import Plateau, plateau
from registry.tables import Job, ScheduleTask, Trial
from registry.traces import DecisionColumn, DecisionColumnKind
from registry.traces.columns import DecisionValue

_TIMED = frozenset({TrialOutcome.MEASURED, TrialOutcome.PRUNED})
_BACKEND = "backend"


@dataclass(frozen=True, slots=True)
class PeerCandidate:
    """A candidate compared with the fastest of its tolerance class."""

    trial: Trial
    interval: RatioInterval | None
    likeness: Likeness


@dataclass(frozen=True, slots=True)
class ClassOutcome:
    """A tolerance class in a search: its fastest candidate, and those as good as it.

    ``peers`` are the other measured candidates of the class, fastest first.
    """

    tolerance: str
    best: Trial
    end: Plateau
    peers: list[PeerCandidate]

    @property
    def alike(self) -> list[PeerCandidate]:
        """Peers that are not slower."""
        return [each for each in self.peers if each.likeness != Likeness.SLOWER]

    def count(self, kind: Likeness) -> int:
        """Number of peers of a kind."""
        return sum(each.likeness == kind for each in self.peers)

    @property
    def equal(self) -> int:
        """Number of peers equal to the best within noise."""
        return self.count(Likeness.EQUAL)

    @property
    def undecided(self) -> int:
        """Number of peers whose interval is too wide to say."""
        return self.count(Likeness.UNDECIDED)


def configuration_trials(job: Job) -> list[Trial]:
    """The trials of a readable job in order, without raw samples."""
    return list(trials_of(job))


def class_outcomes(trials: Sequence[Trial]) -> list[ClassOutcome]:
    """Each tolerance class with a measured candidate, strictest first."""
    outcomes = []
    for tolerance in ToleranceClass.values:
        own = [trial for trial in trials if trial.tolerance == tolerance and trial.ratio]
        if not own:
            continue
        best, *others = sorted(own, key=lambda trial: (trial.ratio or 0.0, trial.number))
        ratios = [trial.ratio if trial.tolerance == tolerance else None for trial in trials]
        peers = [_peer(trial, best) for trial in others]
        outcomes.append(ClassOutcome(tolerance, best, plateau(ratios), peers))
    return outcomes


def configuration_rounds(trials: Sequence[Trial]) -> list[PredictionRound]:
    """Predicted against measured ratios by round."""
    rows = [
        (trial.number, float(trial.predicted_ratio), float(trial.ratio))
        for trial in trials
        if trial.predicted_ratio is not None and trial.ratio
    ]
    return rounds_from(rows)


def configuration_evidence(trials: Sequence[Trial], share: float) -> DecisionEvidence:
    """Associations of backends, and of the options of each backend, with small ratios.

    An option is compared among the trials of its backend only.
    """
    rows = [trial for trial in trials if trial.ratio]
    columns = tuple(_columns(rows))
    ratios = np.array([trial.ratio for trial in rows], dtype=np.float64)
    is_fast = fastest(ratios, share)
    evidence = associations([column.codes for column in columns], ratios, is_fast)
    return DecisionEvidence(len(rows), int(is_fast.sum()), columns, evidence)


def configuration_failures(trials: Sequence[Trial]) -> list[FailureCount]:
    """Failure classes, as of :func:`failure_counts`."""
    return failure_counts(
        (trial.outcome, trial.failure_detail) for trial in trials if trial.outcome not in _TIMED
    )


def workloads_of_job(job: Job) -> list[ScheduleTask]:
    """Workloads that a readable job searched schedules for, most operations first."""
    rows = ScheduleTask.objects.filter(trials__job=job).select_related("target").distinct()
    return list(rows.order_by("-flops", "id"))


def _peer(trial: Trial, best: Trial) -> PeerCandidate:
    one, other = _interval(trial), _interval(best)
    interval = interval_ratio(one, other) if one and other else None
    return PeerCandidate(trial, interval, likeness(interval))


def _interval(trial: Trial) -> RatioInterval | None:
    """The interval of a trial's ratio to the default, measured in the same run."""
    if not (trial.ratio and trial.ratio_low and trial.ratio_high):
        return None
    return RatioInterval(trial.ratio, trial.ratio_low, trial.ratio_high)


def _columns(rows: Sequence[Trial]) -> list[DecisionColumn]:
    backends = [str(trial.candidate["backend"]) for trial in rows]
    columns = [_column(_BACKEND, list(backends))]
    for backend in dict.fromkeys(backends):
        names: dict[str, None] = {}
        for trial in rows:
            if trial.candidate["backend"] == backend:
                names |= dict.fromkeys(trial.candidate.get("options", {}))
        for name in names:
            values = [
                _text(trial.candidate.get("options", {}).get(name, "not set"))
                if trial.candidate["backend"] == backend
                else None
                for trial in rows
            ]
            columns.append(_column(f"{backend}: {name}", values))
    return columns


def _column(title: str, values: list[str | None]) -> DecisionColumn:
    labels = sorted({value for value in values if value is not None})
    at = {label: number for number, label in enumerate(labels)}
    codes = np.array([-1 if v is None else at[v] for v in values], dtype=np.int32)
    named = tuple(DecisionValue((), label, ()) for label in labels)
    return DecisionColumn(title, title, DecisionColumnKind.CHOICE, codes, named, {})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
