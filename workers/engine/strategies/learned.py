"""The search that learns from everything the hub has measured.

::

    baseline ─▶ defaults of backends nobody has tried on this target
      ─▶ the best of this very key's history
      ─▶ the portfolio of the architecture class: its best two, or all of it where few are known
      ─▶ what each backend calls promising
      ─▶ the model: a ranking learned from all networks, or what the few others found, corrected
         by this search's own trials, by expected gain per second; one proposal in ten at random
      ─▶ TPE, warm-started by the nearest networks' trials: every eighth proposal

What other networks say is believed as long as it holds for what is measured here. A backend that
is far slower than the baseline, here or on every network that tried it, gets no more of the budget.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from math import exp, log
from random import Random

import numpy as np

from workers.engine.strategies.base import Proposal, SearchProblem, Spaces, Strategy
from workers.engine.strategies.classes import class_shares
from workers.engine.strategies.default import best_priors
from workers.engine.strategies.features import Features
from workers.engine.strategies.joint import JointSpace
from workers.engine.strategies.neighbour_prior import NeighbourPrior
from workers.engine.strategies.novel import unseen
from workers.engine.strategies.peers import Found, Peer, peers_of, value_of
from workers.engine.strategies.pool import Pool
from workers.engine.strategies.portfolio import portfolio
from workers.engine.strategies.ranking import FEWEST_PEERS, Ranking
from workers.engine.strategies.surrogate import Outlook, outlook, trusted
from workers.engine.strategies.tpe import TPE, bars
from workers.engine.types import Candidate, Trial

#: How many of the key's own history in each tolerance class are tried first.
FROM_HISTORY = 2
#: How many of the portfolio are tried before what backends promise, once the networks known are
#: enough for a model to take over: what serves others says little of an option that they lack.
FROM_PORTFOLIO = 2
#: Share of the model's proposals taken at random, so that it learns where it is wrong.
EPSILON = 0.1
#: One proposal in so many is TPE's.
TPE_EVERY = 8
#: A backend whose best trial takes this many times as long as the baseline is closed, and one that
#: failed so often without a success.
HOPELESS, MOST_FAILURES = 3.0, 3
#: Trials before a backend has its turn that takes long to build and has never been close to the
#: baseline on this target.
LATE = 10
#: Networks that must have found a backend hopeless before it is closed unseen, and the share of
#: searches that look again: compilers get better.
WITNESSES, LOOK_AGAIN = 2, 0.1
#: Networks that must have tried a backend before its default waits for what came of it there: on
#: fewer, one odd network would speak for all.
ENOUGH_TO_GO_BY = 4


class Learned(Strategy):
    """See the module."""

    name = "learned"

    def __init__(self, problem: SearchProblem) -> None:
        super().__init__()
        self._problem = problem
        self._trials: list[Trial] = []
        self._joint = JointSpace(problem.spaces)
        self._features = Features(self._joint)
        self._peers = peers_of(problem)
        self._networks = {peer.network for peer in self._peers}
        self._expected = _expected(self._peers)
        self._history = best_priors(problem.history, FROM_HISTORY)
        self._portfolio = portfolio(self._peers, problem.architecture_class)
        self._elsewhere = self._known_elsewhere()
        self._close = {f.candidate.backend for f in self._found if f.value < log(HOPELESS)}
        self._written_off = self._hopeless_elsewhere()
        self._pools: dict[frozenset[str], Pool] = {}

    def learn(self, trial: Trial) -> None:
        if self._joint.contains(trial.candidate):
            self._trials.append(trial)

    def propose(self, taken: Set[str]) -> Proposal | None:
        pool = self._pool()
        listed = (p for p in self._listed(pool) if p.candidate.sha256 not in taken)
        if (known := next(listed, None)) is not None:
            return known
        free = pool.free(taken, self._trials)
        if not free:
            return None
        ahead = self._outlook(free)
        gain = 1 - exp(-float(ahead.gain.max()))
        proposal = self._chosen(pool, free, ahead, taken)
        predicted = dict(zip(free, ahead.mean, strict=True)).get(proposal.candidate.sha256)
        ratio = None if predicted is None else exp(float(predicted))
        return Proposal(proposal.candidate, proposal.proposed_by, ratio, gain)

    def _chosen(
        self, pool: Pool, free: Mapping[str, Candidate], ahead: Outlook, taken: Set[str]
    ) -> Proposal:
        if len(taken) % TPE_EVERY == TPE_EVERY - 1:
            return self._tpe(pool, taken) or Proposal(next(iter(free.values())), TPE.name)
        chance = Random(f"{self._problem.seed} {len(taken)}")  # noqa: S311 - a search, not a secret
        if chance.random() < EPSILON:
            return Proposal(chance.choice(list(free.values())), "random")
        best = list(free.values())[int(np.argmax(ahead.worth))]
        return Proposal(best, "model" if self._ranking is None else "ranking")

    def _listed(self, pool: Pool) -> list[Proposal]:
        """What is tried before anything is modelled, in order.

        Defaults of backends that others have tried wait for what came of it: those worth a trial
        are in the portfolio.
        """
        believed = trusted(self._pairs())
        baseline, others = self._problem.defaults[:1], self._problem.defaults[1:]
        defaults = [c for c in others if not (believed and c.backend in self._elsewhere)]
        listed = [Proposal(c, "default") for c in (*baseline, *defaults)]
        listed += [Proposal(c, "history", ratio) for c, ratio in self._history]
        if believed:
            most = FROM_PORTFOLIO if len(self._networks) >= ENOUGH_TO_GO_BY else None
            listed += [Proposal(c, "portfolio", r) for c, r in self._portfolio[:most]]
        listed += [Proposal(c, "promising") for c in _in_turn(pool.spaces)]
        known = [p for p in listed if p.candidate in baseline or p.candidate.backend in pool.spaces]
        return known + [Proposal(candidate, "unseen") for candidate in self._unseen(pool)]

    def _unseen(self, pool: Pool) -> list[Candidate]:
        """A last trial for closed backends that have an option nobody has tried.

        One that is the network's own, nobody else can have tried; nor did earlier searches of it
        with what there is now.
        """
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
        found = [
            unseen(default, self._problem.spaces[default.backend], tried[default.backend])
            for default in self._problem.defaults[1:]
            if default.backend not in pool.spaces and tried[default.backend]
        ]
        return [candidate for candidate in found if candidate is not None]

    def _tpe(self, pool: Pool, taken: Set[str]) -> Proposal | None:
        problem = self._problem
        tpe = TPE(pool.spaces, problem.seed, problem.history, self._peers)
        for trial in self._trials:
            tpe.learn(trial)
        return tpe.propose(taken)

    def _outlook(self, free: Mapping[str, Candidate]) -> Outlook:
        rows = self._features.of(free)
        own = self._features.matrix([trial.candidate for trial in self._trials])
        told = self._ranking or self._neighbour_prior
        prior, before, error = np.zeros(len(rows)), np.zeros(len(own)), None
        if told is not None:
            said = told.predict(own) if self._trials else prior[:0]
            pairs = [(s, value_of(t.ratio)) for s, t in zip(said, self._trials, strict=True)]
            if trusted(pairs):
                prior, before, error = told.predict(rows), said, told.error
        seen = [(t.candidate, t.tolerance) for t in self._trials if t.build is not None]
        seen += [(f.candidate, f.tolerance) for f in self._found if not f.failed]
        known = self._features.matrix([candidate for candidate, _ in seen])
        # The baseline's ratio to itself is 1, whatever noise made of it.
        others = [t for t in self._trials if t.candidate not in self._problem.defaults[:1]]
        timed = [(t.ratio, t.tolerance) for t in others if t.ratio is not None]
        return outlook(
            list(zip(self._trials, own, before, strict=True)),
            (rows, prior),
            class_shares(known, [tolerance for _, tolerance in seen], rows),
            bars(timed),
            error,
        )

    @cached_property
    def _ranking(self) -> Ranking | None:
        """Made when it is first needed: the library takes its time."""
        if len(self._networks) < FEWEST_PEERS:
            return None
        return Ranking(self._problem, self._peers, self._features)

    @cached_property
    def _neighbour_prior(self) -> NeighbourPrior | None:
        """In place of the ranking, where the networks are too few to learn one."""
        return NeighbourPrior(self._peers, self._features) if self._peers else None

    def _pairs(self) -> list[tuple[float, float]]:
        """What others let expect of own trials, and what came of them, as logarithms."""
        return [
            (self._expected[trial.candidate.sha256], value_of(trial.ratio))
            for trial in self._trials
            if trial.candidate.sha256 in self._expected
        ]

    def _pool(self) -> Pool:
        """Candidates of the backends that are open."""
        closed = self._closed()
        if closed not in self._pools:
            spaces = {name: s for name, s in self._problem.spaces.items() if name not in closed}
            known = [found.candidate for found in self._found]
            self._pools[closed] = Pool(spaces, self._problem.seed, known)
        return self._pools[closed]

    def _closed(self) -> frozenset[str]:
        """Backends that get no more trials. The baseline's is never among them."""
        first = {candidate.backend for candidate in self._problem.defaults[:1]}
        trials: dict[str, list[Trial]] = defaultdict(list)
        for trial in self._trials:
            trials[trial.candidate.backend].append(trial)
        waiting = self._problem.late - self._close if len(self._trials) < LATE else frozenset()
        closed = {
            name
            for name, own in trials.items()
            if min((t.ratio for t in own if t.ratio is not None), default=0.0) > HOPELESS
            or (len(own) >= MOST_FAILURES and all(t.ratio is None for t in own))
        }
        untried = (self._written_off | waiting) - trials.keys()
        return frozenset((closed | untried) - first)

    def _known_elsewhere(self) -> set[str]:
        """Backends that enough other networks have tried."""
        tried: dict[str, int] = defaultdict(int)
        for peer in self._peers:
            for name in {found.candidate.backend for found in peer.found}:
                tried[name] += 1
        return {name for name, networks in tried.items() if networks >= ENOUGH_TO_GO_BY}

    def _hopeless_elsewhere(self) -> frozenset[str]:
        """Backends that were far slower than the baseline on every network of this target."""
        problem = self._problem
        best: dict[str, list[float]] = defaultdict(list)
        for peer in self._peers:
            if peer.target == problem.target:
                of_peer: dict[str, float] = {}
                for found in peer.found:
                    name = found.candidate.backend
                    of_peer[name] = min(found.value, of_peer.get(name, found.value))
                for name, value in of_peer.items():
                    best[name].append(value)
        known_here = {candidate.backend for candidate, _ in self._history}
        return frozenset(
            name
            for name, values in best.items()
            if len(values) >= WITNESSES
            and min(values) > log(HOPELESS)
            and name not in known_here
            # The network, too, decides whether to look again: jobs all have the same seed.
            and Random(f"{problem.seed} {name} {problem.embedding}").random() > LOOK_AGAIN  # noqa: S311
        )

    @property
    def _found(self) -> list[Found]:
        return [found for peer in self._peers for found in peer.found]


def _in_turn(spaces: Spaces) -> list[Candidate]:
    """What the backends call promising: the first of each, then the second of each."""
    ranked = [
        (rank, Candidate(name, options))
        for name, space in spaces.items()
        for rank, options in enumerate(space.promising)
    ]
    return [candidate for _, candidate in sorted(ranked, key=lambda entry: entry[0])]


def _expected(peers: Sequence[Peer]) -> dict[str, float]:
    """Weighted mean of the logarithm of each candidate's ratio over the networks that tried it."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 1e-9])
    for peer in peers:
        for found in peer.found:
            entry = sums[found.candidate.sha256]
            entry[0] += peer.weight * found.value
            entry[1] += peer.weight
    return {sha256: value / weight for sha256, (value, weight) in sums.items()}
