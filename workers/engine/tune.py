"""The search: the whole loop on one screen.

Reference and baseline first; then each proposal is built, checked, measured against the baseline
and stored, until the budget ends; then the best are measured again in fresh processes, because the
smallest of many noisy figures flatters (the winner's curse), and only that figure is published.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from workers.engine.clock import SystemClock
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.judge import Effort, Headline, attempt, headline
from workers.engine.ledger import Ledger
from workers.engine.ports import Backend, Clock, Device, Progress, RecordStore
from workers.engine.rig import Rig
from workers.engine.samples import TestSet
from workers.engine.strategies import Scene, Strategy, make_strategy
from workers.engine.types import TOLERANCES, Budget, Candidate, Ticket, Tolerance, Trial

#: The baseline against itself only shows that the machine is sane; two processes show it.
BASELINE_PROCESSES = 2


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
) -> SearchResult:
    """Search the ticket's backends for builds faster than the baseline.

    Stored trials are told to the strategy and never run again. ``device`` is open, and stays so:
    builds of the result live until its owner leaves it.

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
        for trial in ledger.trials:
            strategy.tell(trial)

        while (ended := ledger.ended()) is None:
            proposal = strategy.ask()
            if proposal is None:
                ended = "every configuration was tried"
                break
            say("search", ledger.charged, ticket.budget.trials, _name(proposal.candidate))
            trial = attempt(rig, ledger.next_number, proposal, ledger.bar)
            store.add(trial)
            strategy.tell(trial)
            for build in ledger.add(trial):
                device.discard(build)

        headlines = _headlines(rig, ledger, ticket.budget, say)
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


def _headlines(rig: Rig, ledger: Ledger, budget: Budget, say: Progress) -> list[Headline]:
    headlines: list[Headline] = []
    finalists = ledger.finalists()
    for done, trial in enumerate(finalists):
        say("headline", done, len(finalists), _name(trial.candidate))
        effort = Effort(
            budget.headline_processes,
            budget.headline_half_width,
            budget.headline_seconds / len(finalists),
        )
        try:
            headlines.append(headline(rig, trial, ledger.build_of(trial), effort))
        except (CandidateFailed, WrongOutput) as error:
            say("headline", done, len(finalists), f"{_name(trial.candidate)} failed: {error}")
    return headlines


def _strategy(
    ticket: Ticket, backends: Mapping[str, Backend], baseline: Candidate, store: RecordStore
) -> Strategy:
    workload, target = ticket.workload, ticket.target
    searched = {name: backends[name] for name in ticket.backends}
    defaults = [Candidate(n, b.default(workload, target)) for n, b in searched.items()]
    scene = Scene(
        spaces={name: backend.space(workload, target) for name, backend in searched.items()},
        seed=ticket.seed,
        defaults=[baseline, *(candidate for candidate in defaults if candidate != baseline)],
        history=store.history(),
        experience=store.experience(),
        architecture_class=workload.architecture_class,
        embedding=workload.embedding,
        target=target.slug,
        features=target.features,
    )
    return make_strategy(ticket.strategy, scene)


def _name(candidate: Candidate) -> str:
    options = " ".join(f"{name}={value}" for name, value in candidate.options.items())
    return f"{candidate.backend} {options}"


def _silence(phase: str, done: int, total: int | None, message: str) -> None:
    """Nobody listens."""
