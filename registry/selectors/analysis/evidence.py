"""Statistics of the trials of a search: associations, cost-model ranks, peers of the best."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from registry.selectors.analysis.workloadsearch import SearchTrial, WorkloadSearch, per_search
from registry.statistics.association import Association, associations, fastest
from registry.statistics.noise import (
    Likeness,
    RatioInterval,
    likeness,
    ratio_interval,
)
from registry.statistics.projection import Projection, neighbour_agreement, principal_components
from registry.statistics.ranks import spearman, top_k_recall
from registry.traces import DecisionColumn

Numbers = NDArray[np.float64]
#: A kind of failure, its count, and its texts with their counts.
FailureCount: TypeAlias = tuple[str, int, list[tuple[str, int]]]

#: Trials of a round, and how many of them the recall is about; most rounds of a long search, whose
#: rounds are larger.
ROUND, ROUND_TOP, _MOST_ROUNDS = 16, 4, 80
#: Fastest trials that are compared with the best one.
_MOST_COMPARED = 500
#: Fewest samples of a trial that is compared, and that it is compared with.
_LEAST_SAMPLES = 4


@dataclass(frozen=True, slots=True)
class PredictionRound:
    """Predictions of consecutive trials, each made before its trial was measured.

    Attributes:
        first, last: Positions of its first and last trial.
        trials: Number of them with a prediction and a time.
        correlation: Spearman's, 1 if the model ranks perfectly; ``None`` if it is not defined.
        recall: Share of the fastest :data:`ROUND_TOP` among the first as many predicted.
    """

    first: int
    last: int
    trials: int
    correlation: float | None
    recall: float | None


@dataclass(frozen=True, slots=True)
class PeerTrial:
    """A trial compared with the best one."""

    trial: SearchTrial
    interval: RatioInterval | None
    likeness: Likeness


@dataclass(frozen=True)
class DecisionEvidence:
    """Associations of decisions with fast schedules.

    Attributes:
        among: Number of trials that were compared.
        fast: Number of fast ones.
        columns: Of the search.
        rows: Of all values of all columns, those without a second value left out.
    """

    among: int
    fast: int
    columns: tuple[DecisionColumn, ...]
    rows: list[Association]

    @property
    def evident(self) -> list[Association]:
        """Values that are more frequent among the fast ones, with evidence, strongest first."""
        rows = [row for row in self.rows if row.is_evident and row.log2_odds > 0]
        return sorted(rows, key=lambda row: (row.q, -abs(row.log2_odds)))

    def by_column(self) -> list[tuple[DecisionColumn, list[Association]]]:
        """Columns with their rows, those with the smallest q first."""
        groups: dict[int, list[Association]] = {}
        for row in self.rows:
            groups.setdefault(row.column, []).append(row)
        ordered = sorted(groups, key=lambda at: (min(row.q for row in groups[at]), at))
        return [(self.columns[at], groups[at]) for at in ordered]


@dataclass(frozen=True, slots=True)
class SpaceMap:
    """The timed trials in a plane; ``agreement`` says whether neighbours are equally fast."""

    positions: NDArray[np.intp]
    projection: Projection
    agreement: float | None


@per_search
def evidence_of(
    search: WorkloadSearch, share: float = 0.1, among: Literal["all", "random"] = "all"
) -> DecisionEvidence:
    """Associations with the fastest ``share`` of the timed trials, or of the random among them."""
    is_used = np.isfinite(search.times) & ~search.table.unreadable
    if among == "random":
        is_used &= search.is_random
    times = search.times[is_used]
    is_fast = fastest(times, share)
    columns = search.table.columns
    rows = associations([column.codes[is_used] for column in columns], times, is_fast)
    return DecisionEvidence(len(times), int(is_fast.sum()), columns, rows)


@per_search
def rounds_of(search: WorkloadSearch) -> list[PredictionRound]:
    """Rounds of the trials of a workload that have a prediction and a time."""
    return rounds_from(_predictions(search))


@per_search
def pooled(search: WorkloadSearch) -> PredictionRound | None:
    """All predictions as one round, although the model learned between them."""
    rows = _predictions(search)
    return round_of(rows) if rows else None


def rounds_from(rows: Sequence[tuple[int, float, float]]) -> list[PredictionRound]:
    """Rounds of :data:`ROUND` trials or more in order; a last one of fewer than half as many joins
    the one before.

    Args:
        rows: Position, predicted and measured value of each trial; smaller is faster in both.
    """
    if not rows:
        return []
    size = max(ROUND, ceil(len(rows) / _MOST_ROUNDS))
    starts = list(range(0, len(rows), size))
    if len(starts) > 1 and len(rows) - starts[-1] < size // 2:
        starts.pop()
    ends = [*starts[1:], len(rows)]
    return [round_of(rows[start:end]) for start, end in zip(starts, ends, strict=True)]


def round_of(rows: Sequence[tuple[int, float, float]]) -> PredictionRound:
    """All rows, as of :func:`rounds_from`, as one round. There is at least one."""
    predicted, measured = (np.array(side) for side in list(zip(*rows, strict=True))[1:])
    return PredictionRound(
        rows[0][0],
        rows[-1][0],
        len(rows),
        spearman(predicted, measured),
        top_k_recall(predicted, measured, ROUND_TOP),
    )


@per_search
def peers_of(search: WorkloadSearch) -> list[PeerTrial]:
    """The fastest measured trials, each compared with the fastest by raw times, fastest first.

    The fastest of many noisy times is too optimistic about its schedule, so some peers look slower
    than they are; confirmation runs decide.
    """
    rows = [
        trial
        for trial in search.timed
        if trial.is_measured and len(trial.seconds) >= _LEAST_SAMPLES and min(trial.seconds) > 0
    ]
    if not rows:
        return []
    best, *others = rows[:_MOST_COMPARED]
    intervals = [(trial, ratio_interval(trial.seconds, best.seconds)) for trial in others]
    return [PeerTrial(trial, interval, likeness(interval)) for trial, interval in intervals]


@per_search
def failures_of(search: WorkloadSearch) -> list[FailureCount]:
    """Failures of a search, as of :func:`failure_counts`."""
    return failure_counts(
        (trial.failure, trial.failure_detail) for trial in search.trials if trial.failure
    )


def failure_counts(failures: Iterable[tuple[str, str]]) -> list[FailureCount]:
    """Kinds of failures with their counts, and their texts with theirs, most frequent first."""
    texts: dict[str, Counter[str]] = {}
    for kind, detail in failures:
        texts.setdefault(kind, Counter())[detail.strip() or "no text"] += 1
    counts = [(kind, count.total(), count.most_common()) for kind, count in texts.items()]
    return sorted(counts, key=lambda row: -row[1])


@per_search
def map_of(search: WorkloadSearch) -> SpaceMap | None:
    """The timed trials projected to a plane; ``None`` if they are too few or too alike."""
    is_used = np.isfinite(search.times) & ~search.table.unreadable
    positions = np.flatnonzero(is_used)
    projection = principal_components(search.table.features()[is_used])
    if projection is None:
        return None
    times = np.log(search.times[is_used])
    return SpaceMap(positions, projection, neighbour_agreement(projection.points, times))


def _predictions(search: WorkloadSearch) -> list[tuple[int, float, float]]:
    # A higher score predicts a faster schedule.
    return [
        (trial.position, -trial.predicted, trial.time_s)
        for trial in search.trials
        if trial.predicted is not None and trial.time_s is not None
    ]
