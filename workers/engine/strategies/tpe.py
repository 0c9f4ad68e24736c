"""Search by a tree-structured Parzen estimator (TPE)."""

import warnings
from collections.abc import Sequence, Set
from math import exp, inf, log
from typing import cast

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.space import IntRange, Plain, Value, plain
from workers.engine.strategies.base import Proposal, Spaces, Strategy
from workers.engine.strategies.joint import JointSpace
from workers.engine.strategies.peers import Peer, PeerResult, rank_correlation, value_of
from workers.engine.strategies.random import SpaceSampler
from workers.engine.trials import Prior, Trial
from workers.engine.types import Candidate, Options

#: Random draws before the model is used; trials of earlier searches count as such.
STARTUP_TRIALS = 8
#: Draws of the sampler that may be excluded before a random candidate is used instead.
ATTEMPTS = 8
#: Nearest networks whose trials the model learns, and most trials of the nearest one.
NEAREST, FROM_NEAREST = 3, 24
#: Common candidates from which another network's order is compared with this one's, and the rank
#: correlation that it needs: the guard against negative transfer.
ENOUGH_COMMON, LEAST_CORRELATION = 4, 0.2

optuna.logging.set_verbosity(optuna.logging.WARNING)


class TPE(Strategy):
    """Optuna's TPE over the joint space of the backends.

    Bergstra et al., NeurIPS 2011; Watanabe, arXiv 2304.11127. Multivariate, so that options may
    depend on each other; grouped, so that each backend's conditional options are modelled among
    themselves.

    The objective is the logarithm of the ratio over the best one of its tolerance class or a
    stricter one (:func:`ratios_to_beat`): int8 builds, which are always faster, do not displace the
    search for a fast float32 build. Failures count as worse than any measurement, so that their
    neighbourhood is avoided. The model is rebuilt for each proposal from all trials, with a seed
    derived from the search's seed and the number of excluded candidates: a resumed search continues
    identically.

    Args:
        history: Trials of earlier searches of the same key, which the model learns.
        peers: Other networks, most similar first. The model also learns trials of the nearest ones,
            in proportion to their similarity, unless their order of candidates contradicts this
            network's.
    """

    name = "tpe"

    def __init__(
        self,
        spaces: Spaces,
        seed: int,
        history: Sequence[Prior] = (),
        peers: Sequence[Peer] = (),
    ) -> None:
        super().__init__()
        self._space = JointSpace(spaces)
        self._seed = seed
        self._sampler = SpaceSampler(self._space, seed)
        self._history = [prior for prior in history if self._space.contains(prior.candidate)]
        self._peers = peers[:NEAREST]
        self._trials: list[Trial] = []
        self._distributions = {
            name: _distribution(plain(parameter))
            for name, parameter in self._space.space.parameters.items()
        }

    def learn(self, trial: Trial) -> None:
        if self._space.contains(trial.candidate):
            self._trials.append(trial)

    def propose(self, excluded: Set[str]) -> Proposal | None:
        study = self._study(self._seed * 1_000_003 + len(excluded))
        for _ in range(ATTEMPTS):
            candidate = self._space.candidate(self._suggest(study))
            if candidate.sha256 not in excluded:
                return Proposal(candidate, self.name)
        fallback = self._sampler.draw(excluded)
        return Proposal(fallback, self.name) if fallback else None

    def _study(self, seed: int) -> optuna.Study:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(
                multivariate=True,
                group=True,
                constant_liar=True,
                n_startup_trials=STARTUP_TRIALS,
                seed=seed % 2**32,
            )
        study = optuna.create_study(sampler=sampler)
        own = {trial.candidate.sha256 for trial in self._trials}
        results = [(p.candidate, p.ratio, p.tolerance) for p in self._history]
        results = [entry for entry in results if entry[0].sha256 not in own]
        results += [
            (t.candidate, t.ratio, t.tolerance) for t in self._trials if t.ratio is not None
        ]
        to_beat = ratios_to_beat([(ratio, tolerance) for _, ratio, tolerance in results])
        study.add_trials(
            self._borrowed(own | {candidate.sha256 for candidate, _, _ in results})
            + [self._frozen(c, log(ratio / to_beat[tolerance])) for c, ratio, tolerance in results]
            + [self._frozen(t.candidate, None) for t in self._trials if t.ratio is None]
        )
        return study

    def _borrowed(self, excluded: Set[str]) -> list[FrozenTrial]:
        """Trials of the nearest networks that are unknown here, relative to each network's best."""
        here = {t.candidate.sha256: value_of(t.ratio) for t in self._trials}
        borrowed: list[FrozenTrial] = []
        for peer in self._peers:
            pairs = [
                (result.value, here[result.candidate.sha256])
                for result in peer.results
                if result.candidate.sha256 in here
            ]
            if len(pairs) >= ENOUGH_COMMON and rank_correlation(pairs) < LEAST_CORRELATION:
                continue
            measured = [(exp(r.value), r.tolerance) for r in peer.results if not r.failed]
            to_beat = ratios_to_beat(measured)
            for result in _spread(peer.results, round(FROM_NEAREST * peer.weight)):
                candidate = result.candidate
                if candidate.sha256 not in excluded and self._space.contains(candidate):
                    value = None if result.failed else result.value - log(to_beat[result.tolerance])
                    borrowed.append(self._frozen(candidate, value))
        return borrowed

    def _frozen(self, candidate: Candidate, value: float | None) -> FrozenTrial:
        """A finished trial. Without a value it is pruned: TPE ranks it below every value, while a
        failed trial would be ignored."""
        options = self._space.options(candidate)
        return create_trial(
            params=dict(options),
            distributions={name: self._distributions[name] for name in options},
            value=value,
            state=TrialState.PRUNED if value is None else TrialState.COMPLETE,
        )

    def _suggest(self, study: optuna.Study) -> Options:
        """One draw of the sampler. Its trial stays open, so that the next draw differs."""
        trial = study.ask()
        space, options = self._space.space, Options()
        for name in space.parameters:
            if space.applies(name, options):
                options[name] = _suggested(trial, name, plain(space.parameters[name]))
        return options


def _spread(results: Sequence[PeerResult], count: int) -> list[PeerResult]:
    """``count`` results: half of them the best, the others evenly spaced among the rest."""
    ordered = sorted(results, key=lambda each: (each.value, each.candidate.sha256))
    best, rest = ordered[: (count + 1) // 2], ordered[(count + 1) // 2 :]
    step = max(1, len(rest) // max(1, count // 2))
    return best + rest[step - 1 :: step][: count // 2]


def ratios_to_beat(results: Sequence[tuple[float, Tolerance]]) -> dict[Tolerance, float]:
    """Per tolerance class the best ratio of the class, all stricter ones and the baseline (1)."""
    best, by_class = 1.0, dict.fromkeys(TOLERANCES, inf)
    for ratio, tolerance in results:
        by_class[tolerance] = min(by_class[tolerance], ratio)
    to_beat: dict[Tolerance, float] = {}
    for tolerance in TOLERANCES:
        best = min(best, by_class[tolerance])
        to_beat[tolerance] = best
    return to_beat


def _distribution(parameter: Plain) -> BaseDistribution:
    if isinstance(parameter, IntRange):
        return IntDistribution(parameter.low, parameter.high, parameter.log, parameter.step)
    return CategoricalDistribution(parameter.values)


def _suggested(trial: optuna.Trial, name: str, parameter: Plain) -> Value:
    if isinstance(parameter, IntRange):
        return trial.suggest_int(
            name, parameter.low, parameter.high, step=parameter.step, log=parameter.log
        )
    return cast("Value", trial.suggest_categorical(name, parameter.values))
