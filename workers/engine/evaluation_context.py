"""A network on a device, ready to evaluate candidates: reference outputs and an open baseline."""

from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Self

from hpcfair.measurement.level import BaselineLevel
from hpcfair.measurement.types import Deviation
from hpcfair.precisions import Tolerance
from workers.engine.briefcheck import brief_test_set
from workers.engine.clock import Clock
from workers.engine.errors import (
    BaselineFailed,
    CandidateFailed,
    InvalidCandidate,
    ReferenceFailed,
    WrongOutput,
)
from workers.engine.numerics import OutputCheck, Outputs, accuracy, check, require, run_reference
from workers.engine.ports import Backend, Device, RunningSession
from workers.engine.requests import TuningRequest
from workers.engine.samples import sample_rows
from workers.engine.testset import TestSet
from workers.engine.types import BuildResult, Candidate


class EvaluationContext:
    """The data that candidates of one request are compared with. Use as a context manager.

    Entering runs the reference, then builds, opens and checks the baseline; leaving ends every
    child process that it started.

    Attributes:
        device: Builds and runs candidates; stays open.
        tests: Inputs that builds are checked and timed on.
        baseline: The runtime's plain defaults: every latency is compared with theirs.
        reference: Outputs of the reference on every test input that it accepts.
        reference_accuracy: Accuracy of the reference, if the test set has labels.
        level: The baseline's latency in every measurement of this context so far.
        indices: Index in ``level`` by number of a trial that was measured in this context.
    """

    tests: TestSet
    reference: list[Outputs]
    reference_accuracy: float | None
    baseline_build: BuildResult

    def __init__(
        self,
        request: TuningRequest,
        reference: Backend,
        device: Device,
        clock: Clock,
        baseline: Backend | None = None,
    ) -> None:
        """``baseline`` has the defaults that are the baseline; without it, ``reference`` has."""
        self.request = request
        self.device = device
        self.clock = clock
        self._backend = reference
        self._open = ExitStack()
        self._session: RunningSession | None = None
        self._baseline_check: OutputCheck | None = None
        self.level = BaselineLevel()
        self.indices: dict[int, int] = {}
        timed = baseline or reference
        self.baseline = Candidate(timed.name, timed.default(request.network, request.target))

    def __enter__(self) -> Self:
        """Raises ReferenceFailed: without reference and baseline, nothing can be compared."""
        try:
            self.tests = self._make_tests()
            self._run_reference()
            self._check_baseline()
        except (CandidateFailed, BaselineFailed) as error:
            self.close()
            raise ReferenceFailed(error.outcome, str(error)) from error
        except (InvalidCandidate, ValueError) as error:
            self.close()
            raise ReferenceFailed("invalid", str(error)) from error
        except WrongOutput as error:
            self.close()
            raise ReferenceFailed("wrong-output", f"the baseline's outputs: {error}") from error
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the baseline's process; :meth:`baseline_session` starts another."""
        self._session = None
        self._open.close()

    def baseline_session(self) -> RunningSession:
        """The baseline's open session, shared by all comparisons until :meth:`close`. Raises
        BaselineFailed if it does not open."""
        if self._session is None:
            try:
                opened = self.open(self.baseline, self.baseline_build, "baseline")
            except CandidateFailed as error:
                raise BaselineFailed(error.outcome, str(error)) from error
            self._session = self._open.enter_context(closing(opened))
        return self._session

    @property
    def has_baseline_session(self) -> bool:
        """Whether the baseline's session is open."""
        return self._session is not None

    @property
    def has_brief_check(self) -> bool:
        """Whether a brief check leaves anything out."""
        return len(self._brief.runs) < len(self.tests.runs)

    def is_doubtful(self, number: int) -> bool:
        """Whether later measurements show that a trial's baseline was off its level."""
        return number in self.indices and self.level.is_off(self.indices[number])

    def open(self, candidate: Candidate, build: BuildResult, role: str) -> RunningSession:
        """Load a build in a process of its own, to be timed on the test set's timing input. Raises
        CandidateFailed if it does not load."""
        return self.device.open(candidate.backend, build, role, self.tests.timing)

    def compare(
        self, session: RunningSession, *, brief: bool = False, planted: bool = True
    ) -> OutputCheck:
        """Compare a session's outputs with the reference's; raises as :func:`numerics.check`.

        A ``brief`` check is over a few runs, as of :mod:`workers.engine.briefcheck`. ``planted``
        includes the inputs with NaN and infinity.
        """
        tests = self._brief if brief else self.tests
        if not planted:
            tests = replace(tests, planted=())
        # A brief test set has the first of the cases and the first of the other inputs.
        others = self.reference[len(self.tests.cases) :][: len(tests.runs) - len(tests.cases)]
        return check(session, tests, [*self.reference[: len(tests.cases)], *others])

    def require(self, checked: OutputCheck, tolerance: Tolerance) -> None:
        """Reject outputs beyond the limits of a tolerance class. Raises WrongOutput, which names
        the figure and its limit."""
        require(checked, tolerance, self._baseline_check, self.reference_accuracy)

    @property
    def baseline_deviation(self) -> Deviation | None:
        """Deviation of the runtime's defaults on the test inputs."""
        return self._baseline_check.deviation if self._baseline_check else None

    def _make_tests(self) -> TestSet:
        tests = self.device.test_set(sample_rows(self.request.network), self.request.seed)
        self._brief = brief_test_set(tests, self.request.network)
        return tests

    def _run_reference(self) -> None:
        options = self._backend.reference(self.request.network, self.request.target)
        candidate = Candidate(self._backend.name, options)
        build = self._build(candidate)
        with closing(self.open(candidate, build, "reference")) as session:
            self.reference = run_reference(session, self.tests)
        self.device.discard(build)
        cases = self.reference[: len(self.tests.cases)]
        scores = [next(iter(outputs.values())) for outputs in cases if outputs]
        self.reference_accuracy = accuracy(scores, self.tests)

    def _check_baseline(self) -> None:
        """Check the runtime's defaults. A network for which they deviate by more than float16 does
        is too badly conditioned to compare any build."""
        self.baseline_build = self._build(self.baseline)
        checked = self.compare(self.baseline_session())
        require(checked, "fp16", None, None)
        self._baseline_check = checked

    def _build(self, candidate: Candidate) -> BuildResult:
        build = self.device.build(candidate.backend, candidate.options)
        if build.outcome != "measured":
            raise CandidateFailed(build.outcome, build.detail)
        return build
