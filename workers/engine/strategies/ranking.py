"""A ranking of candidates, learned from the trials of other networks.

Two boosted forests (XGBoost, ``rank:pairwise``: Burges 2010) learn to order candidates by latency,
each from the trials of half of the networks. A group is a network on a target in one tolerance
class: only candidates that a user may choose between are compared, and a slow network does not make
its candidates look bad. Each forest scores the networks that it has not seen; these out-of-sample
scores determine the slope from score to logarithm of the ratio, and the standard error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpcfair.precisions import TOLERANCES
from workers.engine.strategies.base import SearchProblem
from workers.engine.strategies.classes import class_shares
from workers.engine.strategies.features import Features, Floats
from workers.engine.strategies.peers import Peer, PeerResult

#: Fewest networks to learn a ranking from that generalises.
FEWEST_PEERS = 4
#: Most trials to learn from, those of the most similar networks first.
MOST_TRIALS = 2000
_ROUNDS = 60
#: Lower bound on the standard error of the logarithm for a network that was not seen.
_LEAST_ERROR = 0.05


@dataclass(frozen=True, slots=True)
class _Row:
    peer: Peer
    result: PeerResult
    group: int
    fold: int


class Ranking:
    """Expected logarithms of ratios for the problem's network, from ``peers``, most similar first.

    ``error`` is the standard error of :meth:`predict`, on networks that the forests have not seen.
    Raises ValueError if there are fewer than ``FEWEST_PEERS`` networks.
    """

    def __init__(self, problem: SearchProblem, peers: Sequence[Peer], features: Features) -> None:
        if len({peer.network for peer in peers}) < FEWEST_PEERS:
            raise ValueError(f"a ranking needs {FEWEST_PEERS} networks to learn from")
        self._problem = problem
        self._features = features
        self._all_features = sorted({name for peer in peers for name in peer.features})
        self._classes = sorted({peer.architecture_class for peer in peers})
        rows = _rows(peers)
        self._measured_features = features.matrix([row.result.candidate for row in rows])
        self._measured_classes = [row.result.tolerance for row in rows]
        inputs = self._inputs(self._measured_features, [row.peer for row in rows])
        values = np.array([row.result.value for row in rows])
        folds = np.array([row.fold for row in rows])
        self._forests = [
            _forest(inputs, values, rows, folds == fold, problem.seed) for fold in (0, 1)
        ]
        scores = np.where(folds == 0, self._scores(1, inputs), self._scores(0, inputs))
        self._calibrate(rows, scores, values)

    def predict(self, candidates: Floats) -> Floats:
        """Expected logarithm of each ratio, from features ``[candidates, columns]``."""
        inputs = self._inputs(candidates, [None] * len(candidates))
        scores = (self._scores(0, inputs) + self._scores(1, inputs)) / 2
        shares = class_shares(self._measured_features, self._measured_classes, candidates)
        expected = shares @ self._means + self._slope * (scores - shares @ self._centres)
        return np.asarray(expected, np.float64)

    def _calibrate(self, rows: Sequence[_Row], scores: Floats, values: Floats) -> None:
        """A level for each tolerance class and one slope for all, by weighted least squares."""
        weights = np.array([row.peer.weight for row in rows]) + 1e-6
        classes = np.array([TOLERANCES.index(row.result.tolerance) for row in rows])
        count = len(TOLERANCES)
        total = np.bincount(classes, weights, count)
        safe = np.maximum(total, 1e-9)
        overall = [float(np.average(side, weights=weights)) for side in (values, scores)]
        self._means, self._centres = (
            np.where(total > 0, np.bincount(classes, weights * side, count) / safe, mean)
            for side, mean in zip((values, scores), overall, strict=True)
        )
        x, y = scores - self._centres[classes], values - self._means[classes]
        spread = float(np.average(x**2, weights=weights))
        self._slope = min(0.0, float(np.average(x * y, weights=weights)) / max(spread, 1e-9))
        left = np.average((y - self._slope * x) ** 2, weights=weights)
        self.error = max(_LEAST_ERROR, float(np.sqrt(left)))

    def _inputs(self, options: Floats, peers: Sequence[Peer | None]) -> Floats:
        """Features of options, network and target of each row; ``None`` is the problem's own."""
        contexts: dict[int, Floats] = {}
        for peer in peers:
            if id(peer) not in contexts:
                contexts[id(peer)] = self._context(peer or self._problem)
        return np.hstack([options, np.array([contexts[id(peer)] for peer in peers])])

    def _context(self, of: Peer | SearchProblem) -> Floats:
        width = len(self._problem.embedding)
        embedding = of.embedding if len(of.embedding) == width else (0.0,) * width
        classes = [float(of.architecture_class == name) for name in self._classes]
        features = [float(name in of.features) for name in self._all_features]
        return np.array([*embedding, *classes, *features], np.float64)

    def _scores(self, fold: int, inputs: Floats) -> Floats:
        data = _library().DMatrix(inputs, nthread=1)
        return np.asarray(self._forests[fold].predict(data), np.float64)


def _rows(peers: Sequence[Peer]) -> list[_Row]:
    """Trials of the most similar networks, sorted by group. Networks alternate between folds, all
    targets of a network in the same one."""
    fold_of: dict[str, int] = {}
    rows: list[_Row] = []
    groups = 0
    for peer in peers:
        fold = fold_of.setdefault(peer.network, len(fold_of) % 2)
        if len(rows) + len(peer.results) > MOST_TRIALS and len(fold_of) > FEWEST_PEERS:
            break
        for tolerance in TOLERANCES:
            group = [result for result in peer.results if result.tolerance == tolerance]
            rows += [_Row(peer, result, groups, fold) for result in group]
            groups += bool(group)
    return rows


def _forest(
    inputs: Floats, values: Floats, rows: Sequence[_Row], chosen: npt.NDArray[np.bool_], seed: int
) -> Any:
    xgboost = _library()
    selected = [int(at) for at in np.flatnonzero(chosen)]
    groups = np.array([rows[at].group for at in selected])
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    data = xgboost.DMatrix(
        inputs[selected],
        label=-values[selected],
        qid=groups,
        weight=np.array([rows[selected[int(at)]].peer.weight for at in starts]) + 1e-3,
        nthread=1,
    )
    settings = {
        "objective": "rank:pairwise",
        "lambdarank_pair_method": "mean",
        "lambdarank_num_pair_per_sample": 8,
        "max_depth": 5,
        "eta": 0.2,
        "subsample": 0.8,
        "colsample_bytree": 0.8,
        "min_child_weight": 0.1,
        "tree_method": "hist",
        "nthread": 1,
        "seed": seed,
    }
    return xgboost.train(settings, data, num_boost_round=_ROUNDS)


def _library() -> Any:
    import xgboost  # noqa: PLC0415  importing takes two seconds, and not every search ranks

    return xgboost
