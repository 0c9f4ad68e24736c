"""The learned cost model: gradient-boosted trees over a schedule's stores and its decisions.

One model serves all workloads: it learns how near a schedule comes to the fastest of its own
workload, so that trials of one teach it about others. Runs in the search child; what it learnt
dies with it and is never loaded from anywhere.

On 128 random schedules of a 3x3 convolution, from 16 trials: rank correlation with the times of the
others 0.61, against 0.27 for relative throughput over stores alone, which is MetaSchedule's way:
times span three orders of magnitude, and without the logarithm most trials teach nothing.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xgboost as xgb
from tvm.s_tir import meta_schedule as ms

from workers.backends.tvm.tuning import moves
from workers.backends.tvm.tuning.evolution import Design
from workers.backends.tvm.tuning.workload import trace_of

Features = npt.NDArray[np.float32]

#: Samples before predictions are better than chance.
_WARM_UP = 12
_ROUNDS = 60
_PARAMETERS = {
    "objective": "reg:squarederror",
    "tree_method": "hist",
    "max_depth": 4,
    "eta": 0.15,
    "subsample": 0.8,
    "colsample_bytree": 0.5,
    "min_child_weight": 0.2,
}
#: A schedule that fails counts as so many times slower than the slowest that ran.
_FAILED = 2.0


class Model:
    """Predicts the logarithm of throughput relative to the best of the same workload.

    Two boosters add up, so that the few decisions are not lost among the many features of stores.

    """

    def __init__(self, seed: int) -> None:
        # One thread: with so little data, several only wait for each other.
        self._parameters = {**_PARAMETERS, "seed": seed, "nthread": 1}
        self._extractor = ms.feature_extractor.PerStoreFeature()
        self._features: list[Features] = []
        self._costs: list[float] = []
        self._groups: list[str] = []
        self._boosters: list[Any] = []
        self._stale = False

    @property
    def ready(self) -> bool:
        """Whether it has learnt enough to predict."""
        return len(self._costs) >= _WARM_UP

    def features(self, context: Any, candidates: Sequence[Any]) -> list[Features]:
        """One vector per candidate: of its stores the mean, the largest, and the heaviest's own;
        then its decisions.

        PerStoreFeature (Ansor, arXiv 2006.06762, appendix B) gives a row per store, in logarithms.
        """
        found = self._extractor.extract_from(context, list(candidates))
        return [
            np.concatenate(
                [
                    _summary(rows.numpy().astype(np.float32)),
                    _padded(moves.numbers(*moves.cut(trace_of(candidate.sch)))),
                ]
            )
            for rows, candidate in zip(found, candidates, strict=True)
        ]

    def add(self, group: str, features: Features, seconds: float | None) -> None:
        """Learn a trial of the workload ``group``; ``None`` for one that failed."""
        self._features.append(features)
        self._costs.append(np.inf if seconds is None else seconds)
        self._groups.append(group)
        self._stale = True

    def predict(self, features: Sequence[Features]) -> npt.NDArray[np.float64]:
        """Scores, higher is faster. Call it only when :attr:`ready`."""
        if self._stale:
            self._train()
        whole = np.stack(features)
        scores = [
            booster.predict(xgb.DMatrix(part))
            for booster, part in zip(self._boosters, _parts(whole), strict=True)
        ]
        return np.asarray(sum(scores), dtype=np.float64)

    def draft(self, designs: Sequence[Design]) -> npt.NDArray[np.float64]:
        """As :meth:`predict`, of sketches with decisions: rougher, and a thousand times cheaper."""
        if self._stale:
            self._train()
        rows = np.stack([_padded(moves.numbers(*design)) for design in designs])
        scores = self._boosters[1].predict(xgb.DMatrix(rows))
        return np.asarray(scores, dtype=np.float64)

    def _train(self) -> None:
        costs, groups = np.asarray(self._costs), np.asarray(self._groups)
        scores = np.zeros_like(costs)
        for group in set(self._groups):
            of_group = groups == group
            ran = of_group & np.isfinite(costs)
            if ran.any():
                slowest = np.where(np.isfinite(costs), costs, _FAILED * costs[ran].max())
                scores[of_group] = np.log(costs[ran].min() / slowest[of_group])
        self._boosters = [
            xgb.train(self._parameters, xgb.DMatrix(part, label=scores), num_boost_round=_ROUNDS)
            for part in _parts(np.stack(self._features))
        ]
        self._stale = False


def _summary(rows: Features) -> Features:
    if not len(rows):
        return np.zeros(3 * _WIDTH, np.float32)
    heaviest = rows[:, :_ARITHMETIC].sum(axis=1).argmax()
    return np.concatenate([rows.mean(axis=0), rows.max(axis=0), rows[heaviest]])


def _padded(numbers: Sequence[float]) -> Features:
    """Decisions in a row of fixed length, 0 where there are no more."""
    padded = np.zeros(_DECISIONS, np.float32)
    padded[: len(numbers)] = numbers[:_DECISIONS]
    return padded


def _parts(features: Features) -> tuple[Features, Features]:
    """Features of stores, and of decisions."""
    return features[:, : 3 * _WIDTH], features[:, 3 * _WIDTH :]


#: Columns of PerStoreFeature, and how many of the first count arithmetic.
_WIDTH = 164
_ARITHMETIC = 16
#: Places for decisions: a convolution has about 30 numbers.
_DECISIONS = 48
