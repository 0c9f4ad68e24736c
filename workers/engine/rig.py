"""One network on one device, ready to judge candidates: reference outputs and an open baseline."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from workers.engine.errors import (
    BaselineFailed,
    CandidateFailed,
    InvalidCandidate,
    ReferenceFailed,
    RigFailed,
    WrongOutput,
)
from workers.engine.measure import Rounds, Rule, measure_into
from workers.engine.numerics import Checked, accuracy, check, require, run_reference
from workers.engine.ports import Array, Backend, Clock, Device, RunningSession
from workers.engine.ratios import half_width
from workers.engine.samples import TestSet, make_test_set, sample_rows
from workers.engine.strategies import Proposal
from workers.engine.types import (
    BuildResult,
    Candidate,
    Measurement,
    Options,
    Outcome,
    Ticket,
    Tolerance,
    Trial,
)

#: Rounds in each fresh process of a headline, and processes before its interval may end it:
#: builds differ more between processes than within one, so many short ones say more.
HEADLINE_ROUNDS = 4
FEWEST_PROCESSES = 3


@dataclass(frozen=True, slots=True)
class Headline:
    """A build measured again in fresh processes: the figure to publish."""

    trial: Trial
    build: BuildResult
    measurement: Measurement
    checked: Checked

    @property
    def faster(self) -> bool:
        return self.measurement.verdict == "faster"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much a headline may cost: the first bound reached, after a few processes.

    Attributes:
        processes: Fresh ones of each side at most.
        half_width: Relative half-width of the ratio's interval aimed at.
        seconds: Starting the processes included.
    """

    processes: int
    half_width: float
    seconds: float


@dataclass(slots=True)
class _Findings:
    """What came of a candidate so far."""

    outcome: Outcome
    detail: str
    checked: Checked | None = None
    measurement: Measurement | None = None


class Rig:
    """Judges candidates of one ticket. A context manager that leaves no child behind.

    Entering runs the reference, then opens the baseline and checks it.

    Attributes:
        tests: What builds are checked on.
        baseline: The runtime's plain defaults, which every latency is compared with.
        baseline_build: Its build.
        reference: Outputs of the reference on every test input.
        reference_accuracy: Its accuracy, where the test set has labels.
    """

    tests: TestSet
    reference: list[dict[str, Array]]
    reference_accuracy: float | None
    baseline_build: BuildResult

    def __init__(self, ticket: Ticket, reference: Backend, device: Device, clock: Clock) -> None:
        self._ticket = ticket
        self._backend = reference
        self._device = device
        self._clock = clock
        self._open = ExitStack()
        self._session: RunningSession | None = None
        self._baseline_checked: Checked | None = None
        defaults = reference.default(ticket.workload, ticket.target)
        self.baseline = Candidate(reference.name, defaults)

    def __enter__(self) -> Self:
        """Raises ReferenceFailed, since nothing can be judged without reference and baseline."""
        try:
            self.tests = self._make_tests()
            self._run_reference()
            self._check_baseline()
        except (
            CandidateFailed,
            BaselineFailed,
            InvalidCandidate,
            ValueError,
            WrongOutput,
        ) as error:
            self.close()
            outcome: Outcome = "wrong-output" if isinstance(error, WrongOutput) else "invalid"
            raise ReferenceFailed(getattr(error, "outcome", outcome), str(error)) from error
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the baseline's process; it opens again when needed."""
        self._session = None
        self._open.close()

    def attempt(self, number: int, proposal: Proposal, bar: Callable[[Tolerance], float]) -> Trial:
        """Build, check and measure a candidate. Its failure is a trial like any other.

        Args:
            bar: Ratio per tolerance class that the candidate should reach; one that is clearly
                slower is pruned.
        """
        started = self._clock.monotonic()
        candidate = proposal.candidate
        build = self._device.build(candidate.backend, candidate.options)
        found = _Findings(build.outcome, build.detail)
        if build.outcome == "measured":
            self._judge(candidate, build, bar(build.tolerance), found)
        return Trial(
            number=number,
            candidate=candidate,
            proposed_by=proposal.proposed_by,
            outcome=found.outcome,
            duration_s=self._clock.monotonic() - started,
            build=build,
            deviation=found.checked.deviation if found.checked else None,
            accuracy=found.checked.accuracy if found.checked else None,
            measurement=found.measurement,
            predicted_ratio=proposal.predicted_ratio,
            detail=found.detail,
        )

    def headline(self, trial: Trial, build: BuildResult | None, effort: Effort) -> Headline:
        """Check a trial's candidate and measure it in fresh processes of both sides.

        Args:
            build: The trial's build where its files still exist; else it is built again.

        Raises:
            CandidateFailed: it does not build or run this time.
            WrongOutput: it does not give the right outputs this time.
            RigFailed: the baseline does not run any more.
        """
        started = self._clock.monotonic()
        candidate = trial.candidate
        build = build or self._device.build(candidate.backend, candidate.options)
        if build.outcome != "measured":
            raise CandidateFailed(build.outcome, build.detail)
        seconds = self._ticket.budget.seconds_per_measurement
        rule = Rule(effort.half_width, seconds, rounds=HEADLINE_ROUNDS)
        rounds, checked = Rounds(), None
        for done in range(effort.processes):
            spent = self._clock.monotonic() - started
            if done >= FEWEST_PROCESSES and (
                half_width(rounds.ratio()) <= effort.half_width
                or spent * (done + 1) / done > effort.seconds
            ):
                break
            self.close()
            try:
                with closing(self._candidate(candidate, build)) as session:
                    if checked is None:
                        checked = check(session, self.tests, self.reference)
                        self._require(checked, build.tolerance)
                    baseline = self._baseline()
                    measure_into(rounds, baseline, session, rule, self._clock, process=done)
            except BaselineFailed as error:
                raise RigFailed(f"the baseline failed: {error}") from error
            finally:
                self.close()
        if checked is None:
            raise ValueError("a headline needs at least one process")
        return Headline(trial, build, rounds.measurement(rule), checked)

    def _judge(
        self, candidate: Candidate, build: BuildResult, bar: float, found: _Findings
    ) -> None:
        """Check and measure a build; writes to ``found`` how far it came and why not further."""
        budget = self._ticket.budget
        rule = Rule(budget.half_width, budget.seconds_per_measurement, hopeless_above=bar)
        rounds = Rounds()
        try:
            with closing(self._candidate(candidate, build)) as session:
                found.checked = check(session, self.tests, self.reference)
                self._require(found.checked, build.tolerance)
                measure_into(rounds, self._baseline(), session, rule, self._clock)
        except CandidateFailed as error:
            found.outcome, found.detail = error.outcome, str(error)
        except WrongOutput as error:
            found.outcome, found.detail = "wrong-output", str(error)
        except BaselineFailed as error:
            self.close()
            found.outcome, found.detail = "infrastructure", f"the baseline failed: {error}"
        else:
            found.measurement = rounds.measurement(rule)
            found.outcome = "pruned" if rounds.pruned else "measured"

    def _make_tests(self) -> TestSet:
        workload = self._ticket.workload
        samples = self._device.samples(sample_rows(workload))
        return make_test_set(workload, samples, self._ticket.seed)

    def _run_reference(self) -> None:
        workload, target = self._ticket.workload, self._ticket.target
        candidate = Candidate(self._backend.name, self._backend.reference(workload, target))
        build = self._built(candidate.options)
        with closing(
            self._device.open(candidate.backend, build, "reference", self.tests.timing)
        ) as session:
            self.reference = run_reference(session, self.tests)
        self._device.discard(build)
        first = [next(iter(outputs.values())) for outputs in self.reference]
        self.reference_accuracy = accuracy(first, self.tests)

    def _check_baseline(self) -> None:
        """The runtime's own defaults must agree as float16 would, or the network is chaotic."""
        self.baseline_build = self._built(self.baseline.options)
        try:
            session = self._baseline()
        except BaselineFailed as error:
            raise CandidateFailed(error.outcome, str(error)) from error
        checked = check(session, self.tests, self.reference)
        require(checked, "fp16", None, None)
        self._baseline_checked = checked

    def _built(self, options: Options) -> BuildResult:
        build = self._device.build(self._backend.name, options)
        if build.outcome != "measured":
            raise CandidateFailed(build.outcome, build.detail)
        return build

    def _require(self, checked: Checked, tolerance: Tolerance) -> None:
        require(checked, tolerance, self._baseline_checked, self.reference_accuracy)

    def _candidate(self, candidate: Candidate, build: BuildResult) -> RunningSession:
        return self._device.open(candidate.backend, build, "candidate", self.tests.timing)

    def _baseline(self) -> RunningSession:
        if self._session is None:
            try:
                opened = self._device.open(
                    self.baseline.backend, self.baseline_build, "baseline", self.tests.timing
                )
            except CandidateFailed as error:
                raise BaselineFailed(error.outcome, str(error)) from error
            self._session = self._open.enter_context(closing(opened))
        return self._session
