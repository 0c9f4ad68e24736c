"""The search: the whole loop on one screen.

Reference and baseline first; then each proposal is built, checked, measured against the baseline
and stored, until the budget ends; then the best are measured again in fresh processes, because the
smallest of many noisy figures flatters (the winner's curse), and only that figure is published.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from workers.engine.clock import SystemClock
from workers.engine.finals import measured_again
from workers.engine.judge import Effort, Headline, Judged, attempt, headline
from workers.engine.ledger import Ledger
from workers.engine.ports import Backend, Clock, Device, Progress, RecordStore
from workers.engine.rig import Rig
from workers.engine.samples import TestSet
from workers.engine.strategies import Scene, Strategy, make_strategy
from workers.engine.types import (
    TOLERANCES,
    BuildResult,
    Candidate,
    Ticket,
    Tolerance,
    Trial,
)

#: Told what the search has found while it goes on: the best build of each class as its trial
#: measured it. The builds' files exist during the call.
Found = Callable[["SearchResult"], None]

#: The baseline against itself only shows that the machine is sane; two processes show it.
BASELINE_PROCESSES = 2
#: By how much a build must be faster than what was shown before, to be shown before the end.
WORTH_SHOWING = 0.05


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found.

    Attributes:
        trials: All of them, by number, stored ones included.
        headlines: The finalists measured again, whatever came of it.
        baseline: The runtime's defaults measured against themselves: ratio 1 within noise.
        tests: What builds were checked and timed on.
        reference_accuracy: Accuracy of the reference, where the samples have labels.
        ended: Why the search stopped, for people.
    """

    trials: tuple[Trial, ...]
    headlines: tuple[Headline, ...]
    baseline: Headline
    tests: TestSet
    reference_accuracy: float | None
    ended: str

    def best(self, tolerance: Tolerance) -> Headline:
        """The fastest build for a user who accepts this class and all stricter ones.

        It is faster than the baseline beyond doubt, or it is the baseline.
        """
        accepted = TOLERANCES[: TOLERANCES.index(tolerance) + 1]
        able = [h for h in self.headlines if h.faster and h.build.tolerance in accepted]
        return min(able, key=lambda h: h.measurement.ratio.value, default=self.baseline)


def tune(
    ticket: Ticket,
    backends: Mapping[str, Backend],
    device: Device,
    store: RecordStore,
    *,
    clock: Clock | None = None,
    progress: Progress | None = None,
    found: Found | None = None,
) -> SearchResult:
    """Search the ticket's backends for builds faster than the baseline.

    Stored trials are told to the strategy and never run again. ``device`` is open, and stays so:
    builds of the result live until its owner leaves it.

    Args:
        found: Told of the baseline as soon as it is measured, and of each clear gain after it.

    Raises:
        ReferenceFailed: reference or baseline does not run, so nothing can be judged.
        RigFailed: trials fail one after another by the machine's fault.
        LeaseLost: from ``store`` or ``progress``; all sessions are closed.
        Cancelled: from ``progress``; likewise.
    """
    say: Progress = progress or _silence
    say("reference", 0, None, "running the unoptimised reference and the baseline")
    with Rig(ticket, backends[ticket.reference_backend], device, clock or SystemClock()) as rig:
        ledger = Ledger(ticket.budget, rig.baseline, store.trials())
        strategy = _strategy(ticket, backends, rig.baseline, store)
        shown = _Shown(rig, ledger, found)
        while (ended := ledger.ended()) is None:
            proposal = strategy.ask()
            if proposal is None:
                ended = "every configuration worth a trial was tried"
                break
            if (ended := ledger.futile(proposal.expected_gain)) is not None:
                break
            say("search", ledger.charged, ticket.budget.trials, proposal.candidate.name)
            judged = attempt(rig, ledger.next_number, proposal, ledger.bar)
            store.add(judged.trial)
            strategy.tell(judged.trial)
            useless = ledger.add(judged.trial)
            shown.consider(judged)
            for build in useless:
                device.discard(build)

        finalists = [(trial, ledger.build_of(trial)) for trial in ledger.finalists()]
        headlines = measured_again(rig, finalists, say)
        say("headline", len(headlines), len(headlines), "measuring the baseline against itself")
        effort = Effort(BASELINE_PROCESSES, ticket.budget.half_width, inf)
        baseline = headline(rig, ledger.baseline_trial(), rig.baseline_build, effort)
        return SearchResult(
            tuple(ledger.trials),
            tuple(headlines),
            baseline,
            rig.tests,
            rig.reference_accuracy,
            ended,
        )


class _Shown:
    """What the search has shown so far: the baseline, then each clear gain, as they come."""

    def __init__(self, rig: Rig, ledger: Ledger, tell: Found | None) -> None:
        self._rig = rig
        self._ledger = ledger
        self._tell = tell
        self._judged: dict[int, Judged] = {}
        self._baseline: Headline | None = None
        self._best: dict[Tolerance, float] = {}

    def consider(self, judged: Judged) -> None:
        """Show what changes if this trial changes anything."""
        if self._tell is None or judged.trial.outcome != "measured":
            return
        self._judged[judged.trial.number] = judged
        if judged.trial.candidate == self._rig.baseline:
            self._baseline = self._headline(judged, self._rig.baseline_build)
        elif not self._better(judged.trial):
            return
        if self._baseline is not None:
            self._tell(self._result(self._baseline))

    def _better(self, trial: Trial) -> bool:
        clear = trial.measurement is not None and trial.measurement.verdict == "faster"
        ratio = inf if trial.ratio is None else trial.ratio
        better = clear and ratio < (1 - WORTH_SHOWING) * self._best.get(trial.tolerance, 1.0)
        if better:
            self._best[trial.tolerance] = ratio
        return better

    def _result(self, baseline: Headline) -> SearchResult:
        bests: dict[Tolerance, Headline] = {}
        for trial in self._ledger.finalists():
            build, judged = self._ledger.build_of(trial), self._judged.get(trial.number)
            if build is not None and judged is not None and trial.tolerance not in bests:
                bests[trial.tolerance] = self._headline(judged, build)
        return SearchResult(
            tuple(self._ledger.trials),
            tuple(bests.values()),
            baseline,
            self._rig.tests,
            self._rig.reference_accuracy,
            "it goes on",
        )

    @staticmethod
    def _headline(judged: Judged, build: BuildResult) -> Headline:
        measured, checked = judged.trial.measurement, judged.checked
        assert measured is not None  # noqa: S101 - the outcome says so
        assert checked is not None  # noqa: S101
        return Headline(judged.trial, build, measured, checked)


def _strategy(
    ticket: Ticket, backends: Mapping[str, Backend], baseline: Candidate, store: RecordStore
) -> Strategy:
    """The ticket's strategy, told of what is stored."""
    workload, target = ticket.workload, ticket.target
    searched = {name: backends[name] for name in ticket.backends}
    defaults = [Candidate(n, b.default(workload, target)) for n, b in searched.items()]
    scene = Scene(
        spaces={name: backend.space(workload, target) for name, backend in searched.items()},
        seed=ticket.seed,
        defaults=[baseline, *(candidate for candidate in defaults if candidate != baseline)],
        # Compilers that start programs: an untried one would take a short search for itself.
        late=frozenset(name for name, backend in searched.items() if backend.programs),
        history=store.history(),
        experience=store.experience(),
        architecture_class=workload.architecture_class,
        embedding=workload.embedding,
        target=target.slug,
        features=target.features,
    )
    strategy = make_strategy(ticket.strategy, scene)
    for trial in store.trials():
        strategy.tell(trial)
    return strategy


def _silence(phase: str, done: int, total: int | None, message: str) -> None:
    """Nobody listens."""
