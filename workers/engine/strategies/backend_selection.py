"""Backends of a search that get trials: hopeless ones are closed, slow ones come later, if the time
suffices."""

from collections import defaultdict
from collections.abc import Sequence, Set
from math import log
from random import Random
from statistics import median

from workers.engine.strategies.base import SearchProblem
from workers.engine.strategies.peers import Peer
from workers.engine.trials import Trial

#: A backend is closed if its best trial takes this many times as long as the baseline, or after
#: this many failures without a success.
HOPELESS, MOST_FAILURES = 3.0, 3
#: Trials before the first one of a slow backend that was never close to the baseline, or whose
#: trials of other networks took more than this many times as long as those of other backends. The
#: latter is also the estimate for a backend that no other network has tried.
SLOW_AFTER, COSTLY = 10, 3.0
#: Fewest networks that close a backend without an own trial, and the share of searches that try it
#: nevertheless: compilers improve.
FEWEST_WITNESSES, RETRY_SHARE = 2, 0.1
#: Fewest networks on which a backend was tried to trust their results: with fewer, one unusual
#: network would decide.
FEWEST_NETWORKS = 4


class BackendSelection:
    """Closes backends of a search by its own trials and the results of other networks.

    ``known_backends`` have results of this network, so that neither other networks nor their long
    trials close them; ``well_known`` are backends that enough other networks have tried.
    """

    def __init__(
        self, problem: SearchProblem, peers: Sequence[Peer], known_backends: Set[str]
    ) -> None:
        self._baseline = {candidate.backend for candidate in problem.defaults[:1]}
        self.well_known = _tried_by_enough(peers)
        results = [result for peer in peers for result in peer.results]
        close = {r.candidate.backend for r in results if r.value < log(HOPELESS)}
        self._costs = _relative_costs(problem.slow_backends, peers)
        costly = {name for name, cost in self._costs.items() if cost > COSTLY}
        self._slow = problem.slow_backends - (close - (costly - known_backends))
        self._seconds = problem.seconds
        self._hopeless_elsewhere = _hopeless_elsewhere(problem, peers, known_backends)

    def closed(self, trials: Sequence[Trial], *, slow_wait: bool = True) -> frozenset[str]:
        """Backends that get no trial after ``trials`` of this search; never the baseline's.
        ``slow_wait`` closes slow backends during the first trials. A slow backend gets no first
        trial either if that would probably end after the time of the search."""
        by_backend: dict[str, list[Trial]] = defaultdict(list)
        for trial in trials:
            by_backend[trial.candidate.backend].append(trial)
        hopeless = {
            name
            for name, own in by_backend.items()
            if min((t.ratio for t in own if t.ratio is not None), default=0.0) > HOPELESS
            or (len(own) >= MOST_FAILURES and all(t.ratio is None for t in own))
        }
        waits = slow_wait and len(trials) < SLOW_AFTER
        waiting = {name for name in self._slow if waits or not self._fits(name, trials)}
        untried = (self._hopeless_elsewhere | waiting) - by_backend.keys()
        return frozenset((hopeless | untried) - self._baseline)

    def _fits(self, name: str, trials: Sequence[Trial]) -> bool:
        """Whether a trial of a slow backend would probably end within the time of the search."""
        others = [t.duration_s for t in trials if t.candidate.backend not in self._slow]
        if self._seconds is None or not others:
            return True
        left_s = self._seconds - sum(trial.duration_s for trial in trials)
        return self._costs.get(name, COSTLY) * median(others) <= left_s


def _relative_costs(slow: Set[str], peers: Sequence[Peer]) -> dict[str, float]:
    """Of slow backends that other networks have tried, how many times as long their trials took as
    those of the other backends on the same networks: the median of the networks."""
    times: dict[str, list[float]] = defaultdict(list)
    for peer in peers:
        seconds: dict[str, list[float]] = defaultdict(list)
        for result in peer.results:
            seconds[result.candidate.backend].append(result.seconds)
        others = [each for name, own in seconds.items() if name not in slow for each in own]
        for name in slow & seconds.keys() if others else ():
            times[name].append(median(seconds[name]) / max(median(others), 1e-3))
    return {name: median(own) for name, own in times.items()}


def _tried_by_enough(peers: Sequence[Peer]) -> set[str]:
    networks: dict[str, int] = defaultdict(int)
    for peer in peers:
        for name in {result.candidate.backend for result in peer.results}:
            networks[name] += 1
    return {name for name, count in networks.items() if count >= FEWEST_NETWORKS}


def _hopeless_elsewhere(
    problem: SearchProblem, peers: Sequence[Peer], known_backends: Set[str]
) -> frozenset[str]:
    """Backends that were far slower than the baseline on every network of this target."""
    best: dict[str, list[float]] = defaultdict(list)
    for peer in peers:
        if peer.target == problem.target:
            of_peer: dict[str, float] = {}
            for result in peer.results:
                name = result.candidate.backend
                of_peer[name] = min(result.value, of_peer.get(name, result.value))
            for name, value in of_peer.items():
                best[name].append(value)
    return frozenset(
        name
        for name, values in best.items()
        if len(values) >= FEWEST_WITNESSES
        and min(values) > log(HOPELESS)
        and name not in known_backends
        # Depends on the network as well: the seeds of all jobs are equal.
        and Random(f"{problem.seed} {name} {problem.embedding}").random() > RETRY_SHARE  # noqa: S311
    )
