"""Tree-structured Parzen estimator: learns where good configurations lie."""

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
from workers.engine.strategies.peers import Found, Peer, rank_correlation, value_of
from workers.engine.strategies.random import Urn
from workers.engine.types import Candidate, Options, Prior, Trial

#: Random draws before the model is trusted; trials of earlier searches count as such.
STARTUP_TRIALS = 8
#: Draws of the sampler that may hit known configurations before a random one is taken instead.
ATTEMPTS = 8
#: Networks whose trials the model is told as if they were its own, and how many of the likest one.
NEAREST, FROM_NEAREST = 3, 24
#: Candidates tried both here and there from which on the other's order is held against ours, and
#: the rank correlation it needs: the guard against negative transfer.
ENOUGH_COMMON, AGREEMENT = 4, 0.2

optuna.logging.set_verbosity(optuna.logging.WARNING)


class TPE(Strategy):
    """Optuna's TPE over the joint space of the backends (Bergstra et al., NeurIPS 2011; Watanabe,
    arXiv 2304.11127), multivariate so that options may depend on each other, grouped so that each
    backend's conditional options are modelled among themselves.

    What is minimised is the logarithm of the ratio over the best one of its tolerance class or a
    stricter one (:func:`bars`), so a search for a fast float32 build is not drowned by int8 ones
    that are always faster. Failures count as worse than anything measured: their surroundings are
    avoided. The model is built anew for each proposal from all that was told, under a seed made of
    the search's seed and the number of trials, so a resumed search continues as it would have.

    Args:
        history: Trials of earlier searches of the same key; told to the model, not taken.
        peers: Other networks, likest first. The trials of the nearest are told, too, the more of
            them the liker the network, until the order they give to candidates turns out not to be
            ours.
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
        self._urn = Urn(self._space, seed)
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

    def propose(self, taken: Set[str]) -> Proposal | None:
        study = self._study(self._seed * 1_000_003 + len(taken))
        for _ in range(ATTEMPTS):
            candidate = self._space.candidate(self._suggest(study))
            if candidate.sha256 not in taken:
                return Proposal(candidate, self.name)
        fallback = self._urn.draw(taken)
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
        told = {trial.candidate.sha256 for trial in self._trials}
        known = [(p.candidate, p.ratio, p.tolerance) for p in self._history]
        known = [entry for entry in known if entry[0].sha256 not in told]
        known += [(t.candidate, t.ratio, t.tolerance) for t in self._trials if t.ratio is not None]
        bar = bars([(ratio, tolerance) for _, ratio, tolerance in known])
        study.add_trials(
            self._borrowed(told | {candidate.sha256 for candidate, _, _ in known})
            + [self._frozen(c, log(ratio / bar[tolerance])) for c, ratio, tolerance in known]
            + [self._frozen(t.candidate, None) for t in self._trials if t.ratio is None]
        )
        return study

    def _borrowed(self, known: Set[str]) -> list[FrozenTrial]:
        """Trials of the nearest networks, of candidates not known here, relative to their bars."""
        here = {t.candidate.sha256: value_of(t.ratio) for t in self._trials}
        borrowed: list[FrozenTrial] = []
        for peer in self._peers:
            pairs = [
                (found.value, here[found.candidate.sha256])
                for found in peer.found
                if found.candidate.sha256 in here
            ]
            if len(pairs) >= ENOUGH_COMMON and rank_correlation(pairs) < AGREEMENT:
                continue
            bar = bars([(exp(f.value), f.tolerance) for f in peer.found if not f.failed])
            for found in _spread(peer.found, round(FROM_NEAREST * peer.weight)):
                if found.candidate.sha256 not in known and self._space.contains(found.candidate):
                    value = None if found.failed else found.value - log(bar[found.tolerance])
                    borrowed.append(self._frozen(found.candidate, value))
        return borrowed

    def _frozen(self, candidate: Candidate, value: float | None) -> FrozenTrial:
        """A finished trial; without a value it is pruned, which TPE ranks below every value
        (a trial marked as failed it would ignore)."""
        options = self._space.options(candidate)
        return create_trial(
            params=dict(options),
            distributions={name: self._distributions[name] for name in options},
            value=value,
            state=TrialState.PRUNED if value is None else TrialState.COMPLETE,
        )

    def _suggest(self, study: optuna.Study) -> Options:
        """One draw of the sampler. The trial stays open, so that the next draw keeps away."""
        trial = study.ask()
        space, options = self._space.space, Options()
        for name in space.parameters:
            if space.applies(name, options):
                options[name] = _suggested(trial, name, plain(space.parameters[name]))
        return options


def _spread(found: Sequence[Found], count: int) -> list[Found]:
    """``count`` of them: the better half from the best, the others evenly from the rest."""
    ordered = sorted(found, key=lambda each: (each.value, each.candidate.sha256))
    best, rest = ordered[: (count + 1) // 2], ordered[(count + 1) // 2 :]
    step = max(1, len(rest) // max(1, count // 2))
    return best + rest[step - 1 :: step][: count // 2]


def bars(known: Sequence[tuple[float, Tolerance]]) -> dict[Tolerance, float]:
    """Per tolerance class the ratio to beat: the best of all that a user of the class accepts.

    That is the class itself and every stricter one, and the baseline, whose ratio is 1.
    """
    best, found = 1.0, dict.fromkeys(TOLERANCES, inf)
    for ratio, tolerance in known:
        found[tolerance] = min(found[tolerance], ratio)
    result: dict[Tolerance, float] = {}
    for tolerance in TOLERANCES:
        best = min(best, found[tolerance])
        result[tolerance] = best
    return result


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
