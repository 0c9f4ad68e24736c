"""The strategy that uses all results in the hub's database.

::

    baseline ─▶ the next tighter limit where a build exceeded the limit on its error
      ─▶ defaults of backends that were not tried on this target
      ─▶ the best of this key's history
      ─▶ the best of this network on other targets and with other toolchains
      ─▶ the portfolio of the architecture class: its best two, or all of it with few networks
      ─▶ the promising configurations of each backend
      ─▶ the model: a ranking learned from all networks, or a prior from few, corrected by this
         search's own trials, by expected gain per second; one proposal in ten at random
      ─▶ TPE, warm-started by the nearest networks' trials: every eighth proposal

Results of other networks are used as long as they agree with this search's measurements. Backends
that are far slower than the baseline get no trials (:mod:`.backend_selection`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from math import exp
from random import Random

import numpy as np

from workers.engine.strategies.backend_selection import FEWEST_NETWORKS, BackendSelection
from workers.engine.strategies.base import Proposal, SearchProblem, Strategy
from workers.engine.strategies.classes import class_shares
from workers.engine.strategies.default import best_priors
from workers.engine.strategies.error_limits import tighter_candidates
from workers.engine.strategies.features import Features
from workers.engine.strategies.joint import JointSpace
from workers.engine.strategies.kin import priors_of_kin
from workers.engine.strategies.neighbour_prior import NeighbourPrior
from workers.engine.strategies.novel import with_untried_option
from workers.engine.strategies.peers import Peer, peers_of, value_of
from workers.engine.strategies.pool import Pool
from workers.engine.strategies.portfolio import portfolio
from workers.engine.strategies.promising import next_promising
from workers.engine.strategies.ranking import FEWEST_PEERS, Ranking
from workers.engine.strategies.surrogate import Predictions, is_trustworthy, predict
from workers.engine.strategies.tpe import TPE, ratios_to_beat
from workers.engine.trials import Trial
from workers.engine.types import Candidate

#: Best candidates of the key's history to try first, for each tolerance class.
FROM_HISTORY = 2
#: The same of the network's results on other targets and with other toolchains.
FROM_KIN = 2
#: Portfolio members to try before the promising configurations, if there are enough networks for a
#: model: they say little about options that other networks lack.
FROM_PORTFOLIO = 2
#: Share of random proposals among the model's, so that its errors are noticed.
EPSILON = 0.1
#: One proposal in this many is TPE's.
TPE_EVERY = 8


class Learned(Strategy):
    """The strategy that the module describes."""

    name = "learned"

    def __init__(self, problem: SearchProblem) -> None:
        super().__init__()
        self._problem = problem
        self._trials: list[Trial] = []
        self._joint = JointSpace(problem.spaces)
        self._features = Features(self._joint)
        self._peers = peers_of(problem)
        self._networks = {peer.network for peer in self._peers}
        self._results = [result for peer in self._peers for result in peer.results]
        self._expected = _expected(self._peers)
        self._history = best_priors(problem.history, FROM_HISTORY)
        self._kin = best_priors(priors_of_kin(problem, self._peers), FROM_KIN)
        self._portfolio = portfolio(self._peers, problem.architecture_class)
        known_backends = {candidate.backend for candidate, _ in [*self._history, *self._kin]}
        self._selection = BackendSelection(problem, self._peers, known_backends)
        self._pools: dict[frozenset[str], Pool] = {}

    def learn(self, trial: Trial) -> None:
        if self._joint.contains(trial.candidate):
            self._trials.append(trial)

    def propose(self, excluded: Set[str]) -> Proposal | None:
        # Slow backends wait for the others only as long as those have candidates left.
        return self._propose(self._pool(), excluded) or self._propose(
            self._pool(slow_wait=False), excluded
        )

    def _propose(self, pool: Pool, excluded: Set[str]) -> Proposal | None:
        listed = (p for p in self._listed(pool, excluded) if p.candidate.sha256 not in excluded)
        if (proposal := next(listed, None)) is not None:
            return proposal
        untried = pool.untried(excluded, self._trials)
        if not untried:
            return None
        predictions = self._predict(untried)
        gain = 1 - exp(-float(predictions.gain.max()))
        proposal = self._select(pool, untried, predictions, excluded)
        predicted = dict(zip(untried, predictions.mean, strict=True)).get(proposal.candidate.sha256)
        ratio = None if predicted is None else exp(float(predicted))
        return Proposal(proposal.candidate, proposal.proposed_by, ratio, gain)

    def _select(
        self,
        pool: Pool,
        untried: Mapping[str, Candidate],
        predictions: Predictions,
        excluded: Set[str],
    ) -> Proposal:
        if len(excluded) % TPE_EVERY == TPE_EVERY - 1:
            return self._tpe(pool, excluded) or Proposal(next(iter(untried.values())), TPE.name)
        rng = Random(f"{self._problem.seed} {len(excluded)}")  # noqa: S311 - a search, not a secret
        if rng.random() < EPSILON:
            return Proposal(rng.choice(list(untried.values())), "random")
        best = list(untried.values())[int(np.argmax(predictions.gain_per_cost))]
        return Proposal(best, "model" if self._ranking is None else "ranking")

    def _listed(self, pool: Pool, excluded: Set[str]) -> list[Proposal]:
        """Candidates to try before a model is used, in order. Defaults of well-known backends are
        left out: those worth a trial are in the portfolio."""
        trusted = is_trustworthy(self._expected_and_measured())
        baseline, others = self._problem.defaults[:1], self._problem.defaults[1:]
        well_known = self._selection.well_known if trusted else frozenset()
        defaults = [candidate for candidate in others if candidate.backend not in well_known]
        own = [trial for trial in self._trials if trial.candidate not in baseline]
        listed = [Proposal(candidate, "default") for candidate in baseline]
        listed += [Proposal(c, "tighter limit") for c in tighter_candidates(own, pool.spaces)]
        listed += [Proposal(candidate, "default") for candidate in defaults]
        listed += [Proposal(c, "history", ratio) for c, ratio in self._history]
        listed += [Proposal(c, "kin", ratio) for c, ratio in self._kin]
        if trusted:
            most = FROM_PORTFOLIO if len(self._networks) >= FEWEST_NETWORKS else None
            listed += [Proposal(c, "portfolio", r) for c, r in self._portfolio[:most]]
        if (promising := next_promising(pool.spaces, own, excluded)) is not None:
            listed.append(Proposal(promising, "promising"))
        able = [p for p in listed if p.candidate in baseline or p.candidate.backend in pool.spaces]
        return able + [Proposal(candidate, "unseen") for candidate in self._untried_options(pool)]

    def _untried_options(self, pool: Pool) -> list[Candidate]:
        """A last trial for each closed backend with an option that was never tried. Options of the
        network's own count as tried only in this search: earlier ones had other values."""
        tried: dict[str, set[str]] = defaultdict(set)
        for trial in self._trials:
            if trial.proposed_by != "unseen":
                tried[trial.candidate.backend].update(trial.candidate.options)
        earlier = [each.candidate for each in self._problem.experience]
        earlier += [prior.candidate for prior in self._problem.history]
        for candidate in earlier:
            space = self._problem.spaces.get(candidate.backend)
            own = frozenset() if space is None else space.own
            tried[candidate.backend].update(candidate.options.keys() - own)
        candidates = [
            with_untried_option(
                default, self._problem.spaces[default.backend], tried[default.backend]
            )
            for default in self._problem.defaults[1:]
            if default.backend not in pool.spaces and tried[default.backend]
        ]
        return [candidate for candidate in candidates if candidate is not None]

    def _tpe(self, pool: Pool, excluded: Set[str]) -> Proposal | None:
        tpe = TPE(pool.spaces, self._problem.seed, self._problem.history, self._peers)
        for trial in self._trials:
            tpe.learn(trial)
        return tpe.propose(excluded)

    def _predict(self, untried: Mapping[str, Candidate]) -> Predictions:
        rows = self._features.of(untried)
        own = self._features.matrix([trial.candidate for trial in self._trials])
        model = self._ranking or self._neighbour_prior
        prior, own_prior, error = np.zeros(len(rows)), np.zeros(len(own)), None
        if model is not None:
            predicted = model.predict(own) if self._trials else prior[:0]
            pairs = [(p, value_of(t.ratio)) for p, t in zip(predicted, self._trials, strict=True)]
            if is_trustworthy(pairs):
                prior, own_prior, error = model.predict(rows), predicted, model.error
        built = [(t.candidate, t.tolerance) for t in self._trials if t.build is not None]
        built += [(r.candidate, r.tolerance) for r in self._results if not r.failed]
        features = self._features.matrix([candidate for candidate, _ in built])
        # The baseline's ratio to itself is 1, whatever its noisy measurement says.
        others = [t for t in self._trials if t.candidate not in self._problem.defaults[:1]]
        measured = [(t.ratio, t.tolerance) for t in others if t.ratio is not None]
        return predict(
            list(zip(self._trials, own, own_prior, strict=True)),
            (rows, prior),
            class_shares(features, [tolerance for _, tolerance in built], rows),
            ratios_to_beat(measured),
            error,
        )

    @cached_property
    def _ranking(self) -> Ranking | None:
        """The ranking, created on first use because the library loads slowly; ``None`` with too few
        networks."""
        if len(self._networks) < FEWEST_PEERS:
            return None
        return Ranking(self._problem, self._peers, self._features)

    @cached_property
    def _neighbour_prior(self) -> NeighbourPrior | None:
        """The prior that replaces the ranking with few networks; ``None`` without any."""
        return NeighbourPrior(self._peers, self._features) if self._peers else None

    def _expected_and_measured(self) -> list[tuple[float, float]]:
        """Logarithms of ratios of own trials: expected from other networks, and measured."""
        return [
            (self._expected[trial.candidate.sha256], value_of(trial.ratio))
            for trial in self._trials
            if trial.candidate.sha256 in self._expected
        ]

    def _pool(self, *, slow_wait: bool = True) -> Pool:
        """Candidates of the backends that are not closed."""
        closed = self._selection.closed(self._trials, slow_wait=slow_wait)
        if closed not in self._pools:
            spaces = {name: s for name, s in self._problem.spaces.items() if name not in closed}
            candidates = [result.candidate for result in self._results]
            self._pools[closed] = Pool(spaces, self._problem.seed, candidates)
        return self._pools[closed]


def _expected(peers: Sequence[Peer]) -> dict[str, float]:
    """Weighted mean of the logarithm of each candidate's ratio over the networks that tried it."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 1e-9])
    for peer in peers:
        for result in peer.results:
            entry = sums[result.candidate.sha256]
            entry[0] += peer.weight * result.value
            entry[1] += peer.weight
    return {sha256: value / weight for sha256, (value, weight) in sums.items()}
