"""The learned cost model: gradient-boosted trees over features of a schedule's stores.

One model serves all workloads: it learns how near a schedule comes to the fastest of its own
workload, so that trials of one teach it about others. Runs in the search child; what it learnt
dies with it and is never loaded from anywhere.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xgboost as xgb
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms

Features = npt.NDArray[np.float32]

#: Samples before predictions are better than chance.
_WARM_UP = 12
_ROUNDS = 120
_PARAMETERS = {
    "objective": "reg:squarederror",
    "tree_method": "hist",
    "max_depth": 6,
    "eta": 0.15,
    "subsample": 0.8,
    "colsample_bytree": 0.5,
    "min_child_weight": 0.2,
}


class Model:
    """Predicts throughput relative to the best of the same workload, from 0 to about 1.

    Args:
        threads: Used for training and predicting.
    """

    def __init__(self, seed: int, threads: int) -> None:
        self._parameters = {**_PARAMETERS, "seed": seed, "nthread": threads}
        self._extractor = ms.feature_extractor.PerStoreFeature()
        self._features: list[Features] = []
        self._costs: list[float] = []
        self._groups: list[str] = []
        self._booster: Any = None
        self._stale = False

    @property
    def ready(self) -> bool:
        """Whether it has learnt enough to predict."""
        return len(self._costs) >= _WARM_UP

    def features(self, context: Any, candidates: Sequence[Any]) -> list[Features]:
        """One vector per candidate: of its stores the mean, the largest, and the heaviest's own.

        PerStoreFeature (Ansor, arXiv 2006.06762, appendix B) gives a row per store, in logarithms.
        """
        found = self._extractor.extract_from(context, list(candidates))
        return [_summary(rows.numpy().astype(np.float32)) for rows in found]

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
        scores = self._booster.predict(xgb.DMatrix(np.stack(features)))
        return np.asarray(scores, dtype=np.float64)

    def _train(self) -> None:
        costs, groups = np.asarray(self._costs), np.asarray(self._groups)
        scores = np.zeros_like(costs)
        for group in set(self._groups):
            of_group = groups == group
            fastest = costs[of_group].min()
            if np.isfinite(fastest):
                scores[of_group] = fastest / costs[of_group]
        # Which of the slow ones is slower matters to nobody.
        data = xgb.DMatrix(np.stack(self._features), label=scores, weight=scores + 0.1)
        self._booster = xgb.train(self._parameters, data, num_boost_round=_ROUNDS)
        self._stale = False


@derived_object
class Scorer(ms.cost_model.PyCostModel):  # type: ignore[misc]  # TVM has no types
    """The model as MetaSchedule's evolution asks it; chance, until it has learnt enough."""

    def __init__(self, model: Model, seed: int) -> None:
        super().__init__()
        self._model = model
        self._chance = np.random.default_rng(seed)

    def load(self, path: str) -> None:
        raise NotImplementedError

    def save(self, path: str) -> None:
        raise NotImplementedError

    def update(self, context: Any, candidates: Any, results: Any) -> None:
        """Told by the engine's loop instead."""

    def predict(self, context: Any, candidates: Any) -> npt.NDArray[np.float64]:
        if not self._model.ready:
            return self._chance.uniform(size=len(candidates))
        features: list[Features] = self._model.features(context, candidates)
        return self._model.predict(features)


def _summary(rows: Features) -> Features:
    if not len(rows):
        return np.zeros(3 * _WIDTH, np.float32)
    heaviest = rows[:, :_ARITHMETIC].sum(axis=1).argmax()
    return np.concatenate([rows.mean(axis=0), rows.max(axis=0), rows[heaviest]])


#: Columns of PerStoreFeature, and how many of the first count arithmetic.
_WIDTH = 164
_ARITHMETIC = 16
