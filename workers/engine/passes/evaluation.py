"""Compares lists of compiler passes: time to compile, and latency of the compiled code."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from typing import Protocol, Self

from hpcfair.measurement.level import BaselineLevel
from hpcfair.measurement.ratio import ratio_interval
from hpcfair.measurement.types import Block, Interval
from workers.engine.errors import BaselineFailed, CandidateFailed, InfrastructureFailed, WrongOutput
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.measure import measure_into
from workers.engine.numerics import OutputCheck, require
from workers.engine.passes.device import CompilingDevice
from workers.engine.passes.menu import DEFAULT, Menu
from workers.engine.passes.objective import PassComparison, is_open
from workers.engine.ports import RunningSession
from workers.engine.repetition import measure_on_level
from workers.engine.rounds import Rounds, StopRule
from workers.engine.trials import Measurement
from workers.engine.types import BuildResult

#: Relative half-width at which a ratio of compile times is precise enough.
_COMPILE_HALF_WIDTH = 0.03


@dataclass(frozen=True, slots=True)
class ComparisonEffort:
    """Bounds on one comparison.

    Attributes:
        pairs: Builds of each side in one process.
        processes: Most processes that compile; one more while the ratio is not precise enough.
        seconds: Of running, per process.
        sessions: Fresh pairs of processes that run the code.
        most_sessions: Upper bound if it remains open whether the code runs as fast: the number is
            then doubled. No more than ``sessions`` means no increase.
        half_width: Relative half-width of the latency ratio to reach.
    """

    pairs: int = 6
    processes: int = 1
    seconds: float = 4.0
    sessions: int = 1
    most_sessions: int = 1
    half_width: float = 0.01


def _latency_ratio(measurement: Measurement | None) -> Interval | None:
    """The ratio of a measurement, ``None`` if it is not believed; 1 without one, for equal code."""
    if measurement is None:
        return Interval(1.0, 1.0, 1.0)
    return measurement.ratio if measurement.is_believed else None


class PassEvaluator(Protocol):
    """Evaluates lists of passes on one network."""

    def fingerprints(self, values: Sequence[str]) -> list[str]:
        """A fingerprint of each list's code, equal for equal code; empty if unknown."""
        ...

    def compare(
        self, value: str, effort: ComparisonEffort, against: str = DEFAULT
    ) -> PassComparison:
        """Compare a list with another one. A failure of the list is a result.

        Raises CandidateFailed if the other list cannot be built, InfrastructureFailed if its build
        does not run any more.
        """
        ...


class DevicePassEvaluator:
    """A :class:`PassEvaluator` that builds, runs and times with ``backend``'s passes on a device.
    Use as a context manager: builds and sessions stay open until it is left."""

    def __init__(
        self, context: EvaluationContext, device: CompilingDevice, backend: str, menu: Menu
    ) -> None:
        self._context = context
        self._device = device
        self._backend = backend
        self._menu = menu
        self._builds: dict[str, BuildResult] = {}
        self._open = ExitStack()
        self._sessions: dict[str, RunningSession] = {}
        self._checks: dict[str, OutputCheck] = {}
        self._levels: defaultdict[str, BaselineLevel] = defaultdict(BaselineLevel)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def fingerprints(self, values: Sequence[str]) -> list[str]:
        if not values:
            return []
        try:
            candidates = [self._menu.candidate(value) for value in values]
            compiled = self._device.rehearse_each(self._backend, candidates, timed=False)
        except CandidateFailed:
            return [""] * len(values)
        return [each.fingerprint for each in compiled]

    def compare(
        self, value: str, effort: ComparisonEffort, against: str = DEFAULT
    ) -> PassComparison:
        other = self._build(against)
        build = self._device.build(self._backend, self._menu.candidate(value))
        if build.outcome != "measured":
            return PassComparison(build.outcome, build.detail)
        fingerprint = str(build.provenance.get("fingerprint", ""))
        same = bool(fingerprint) and fingerprint == other.provenance.get("fingerprint")
        try:
            latency = None if same else self._measure_latency(build, against, effort)
            blocks = self._measure_compiling(value, against, effort)
        except CandidateFailed as error:
            return PassComparison(error.outcome, str(error), fingerprint=fingerprint)
        except WrongOutput as error:
            return PassComparison("wrong-output", str(error), fingerprint=fingerprint)
        except BaselineFailed as error:
            raise InfrastructureFailed(f"passes {against}: {error}") from error
        finally:
            self._device.discard(build)
        return PassComparison(
            outcome="measured",
            compile=ratio_interval(blocks),
            latency=_latency_ratio(latency),
            same_code=same,
            fingerprint=fingerprint,
            compile_s=median(ns for block in blocks for ns in block.candidate_ns) / 1e9,
            raw={
                "against": against,
                "compile": [asdict(block) for block in blocks],
                "latency": asdict(latency) if latency else None,
            },
        )

    def _build(self, value: str) -> BuildResult:
        """The build of the list that others are compared with."""
        if value not in self._builds:
            build = self._device.build(self._backend, self._menu.candidate(value))
            if build.outcome != "measured":
                raise CandidateFailed(build.outcome, f"passes {value}: {build.detail}")
            self._builds[value] = build
        return self._builds[value]

    def _measure_latency(
        self, build: BuildResult, against: str, effort: ComparisonEffort
    ) -> Measurement:
        rule = StopRule(effort.half_width, effort.seconds)
        rounds = Rounds()
        done, needed = 0, effort.sessions
        while done < needed:
            for process in range(done, needed):
                run = partial(self._run_process, rounds, build, against, rule, process)
                measure_on_level(self._levels[against], rounds, run, self._close)
            done = needed
            # Doubled rather than increased by one: an interval that is inspected after every
            # process excludes the true ratio too often.
            measurement = rounds.measurement(rule)
            if is_open(measurement.ratio) or not measurement.is_believed:
                needed = max(done, min(2 * done, effort.most_sessions))
        return measurement

    def _run_process(
        self, rounds: Rounds, build: BuildResult, against: str, rule: StopRule, process: int
    ) -> bool:
        """Add the rounds of one more pair of processes; the first one checks the outputs."""
        if process:
            self._close()
        with closing(self._open_session(build, "candidate")) as session:
            if not process:
                self._check(session, build, against)
            baseline, clock = self._baseline_session(against), self._context.clock
            measure_into(rounds, baseline, session, rule, clock, process=process)
        return True

    def _check(self, session: RunningSession, build: BuildResult, against: str) -> None:
        """Reject outputs beyond the limits, or worse than the other list's, NaN and infinity aside:
        some compilers do not propagate them."""
        accuracy = self._context.reference_accuracy
        if against not in self._checks:
            other = self._context.compare(self._baseline_session(against))
            require(other, build.tolerance, None, accuracy)
            self._checks[against] = other
        require(self._context.compare(session), build.tolerance, self._checks[against], accuracy)

    def _measure_compiling(self, value: str, against: str, effort: ComparisonEffort) -> list[Block]:
        """Pairs of builds in turns (ABBA), after one build that fills the compiler's caches."""
        candidate, other = self._menu.candidate(value), self._menu.candidate(against)
        turns = [
            (other, candidate) if n % 2 == 0 else (candidate, other) for n in range(effort.pairs)
        ]
        sequence = [other, *(side for turn in turns for side in turn)]
        blocks: list[Block] = []
        for process in range(effort.processes):
            compiled = self._device.rehearse_each(self._backend, sequence, timed=True)
            failure = next((each.detail for each in compiled if each.detail), "")
            if failure:
                raise CandidateFailed("invalid", failure)
            times_ns = [round(each.seconds * 1e9) for each in compiled[1:]]
            for n in range(effort.pairs):
                pair = times_ns[2 * n : 2 * n + 2]
                baseline_ns, candidate_ns = pair if n % 2 == 0 else reversed(pair)
                blocks.append(Block(process, (baseline_ns,), (candidate_ns,)))
            if ratio_interval(blocks).half_width <= _COMPILE_HALF_WIDTH:
                break
        return blocks

    def _baseline_session(self, value: str) -> RunningSession:
        if value not in self._sessions:
            try:
                opened = self._open_session(self._build(value), "baseline")
            except CandidateFailed as error:
                raise BaselineFailed(error.outcome, str(error)) from error
            self._sessions[value] = self._open.enter_context(closing(opened))
        return self._sessions[value]

    def _open_session(self, build: BuildResult, role: str) -> RunningSession:
        return self._device.open(self._backend, build, role, self._context.tests.timing)

    def _close(self) -> None:
        self._sessions.clear()
        self._open.close()
