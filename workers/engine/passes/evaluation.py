"""Lists of passes side by side: what they cost to compile, what their code takes to run."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from statistics import median
from typing import Protocol

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
from workers.engine.rounds import Rounds, StopRule
from workers.engine.types import BuildResult, Measurement

#: Relative half-width at which a ratio of compile times is known well enough.
_COMPILE_HALF_WIDTH = 0.03


@dataclass(frozen=True, slots=True)
class ComparisonEffort:
    """How much one comparison may cost.

    Attributes:
        pairs: Builds of each side in one process.
        processes: That build side by side at most; one more as long as the ratio is not settled.
        seconds: Of running, in each process.
        sessions: Fresh pairs of processes that run.
        most_sessions: Of them at most: twice as many each time that it is still open whether the
            code runs as fast. None is added where this is no more than ``sessions``.
        half_width: Of the latency's ratio aimed at.
    """

    pairs: int = 6
    processes: int = 1
    seconds: float = 4.0
    sessions: int = 1
    most_sessions: int = 1
    half_width: float = 0.01


class PassEvaluator(Protocol):
    """Tells what lists of passes are worth on one network. Tests simulate it."""

    def fingerprints(self, values: Sequence[str]) -> list[str]:
        """Of each list what tells its code from others', empty if that cannot be told."""
        ...

    def compare(
        self, value: str, effort: ComparisonEffort, against: str = DEFAULT
    ) -> PassComparison:
        """Compare a list with another; a failure is a finding.

        Raises:
            CandidateFailed: the other one cannot be built.
            InfrastructureFailed: it does not run, which it did before.
        """
        ...


class DevicePassEvaluator:
    """A :class:`PassEvaluator` that builds, runs and times on a device.

    Use as a context manager: builds and sessions stay open until it is left.

    Args:
        backend: Name of the backend whose passes are chosen.
    """

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
        self._checked: dict[str, OutputCheck] = {}

    def __enter__(self) -> "DevicePassEvaluator":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def fingerprints(self, values: Sequence[str]) -> list[str]:
        """See :meth:`PassEvaluator.fingerprints`."""
        try:
            candidates = [self._menu.candidate(value) for value in values]
            compiled = self._device.rehearse_each(self._backend, candidates, timed=False)
        except CandidateFailed:
            return [""] * len(values)
        return [each.fingerprint for each in compiled]

    def compare(
        self, value: str, effort: ComparisonEffort, against: str = DEFAULT
    ) -> PassComparison:
        """See :meth:`PassEvaluator.compare`."""
        other = self._baseline(against)
        build = self._device.build(self._backend, self._menu.candidate(value))
        if build.outcome != "measured":
            return PassComparison(build.outcome, build.detail)
        fingerprint = str(build.provenance.get("fingerprint", ""))
        same = bool(fingerprint) and fingerprint == other.provenance.get("fingerprint")
        try:
            measured = None if same else self._latency(build, against, effort)
            blocks = self._compile(value, against, effort)
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
            latency=measured.ratio if measured else Interval(1.0, 1.0, 1.0),
            same_code=same,
            fingerprint=fingerprint,
            compile_s=median(ns for block in blocks for ns in block.candidate_ns) / 1e9,
            raw={
                "against": against,
                "compile": [asdict(block) for block in blocks],
                "latency": asdict(measured) if measured else None,
            },
        )

    def _baseline(self, value: str) -> BuildResult:
        if value not in self._builds:
            build = self._device.build(self._backend, self._menu.candidate(value))
            if build.outcome != "measured":
                raise CandidateFailed(build.outcome, f"passes {value}: {build.detail}")
            self._builds[value] = build
        return self._builds[value]

    def _latency(self, build: BuildResult, against: str, effort: ComparisonEffort) -> Measurement:
        rule = StopRule(effort.half_width, effort.seconds)
        rounds = Rounds()
        done, wanted = 0, effort.sessions
        while done < wanted:
            for process in range(done, wanted):
                self._run_beside(rounds, build, against, rule, process)
            done = wanted
            # Looking seldom: an interval that may be looked at at any time excludes too much.
            if is_open(rounds.measurement(rule).ratio):
                wanted = max(done, min(2 * done, effort.most_sessions))
        return rounds.measurement(rule)

    def _run_beside(
        self, rounds: Rounds, build: BuildResult, against: str, rule: StopRule, process: int
    ) -> None:
        """Add the rounds of one more pair of processes; the first checks the outputs, too."""
        if process:
            self._close()
        with closing(self._session(build, "candidate")) as session:
            if not process:
                self._check(session, build, against)
            measure_into(
                rounds, self._opened(against), session, rule, self._context.clock, process=process
            )

    def _check(self, session: RunningSession, build: BuildResult, against: str) -> None:
        """Refuse outputs beyond the limits, or farther off than the other list's: whether that
        hands on NaN and infinity, which some compilers do not, is not for a list to mend."""
        accuracy = self._context.reference_accuracy
        if against not in self._checked:
            other = self._context.compare(self._opened(against))
            require(other, build.tolerance, None, accuracy)
            self._checked[against] = other
        require(self._context.compare(session), build.tolerance, self._checked[against], accuracy)

    def _compile(self, value: str, against: str, effort: ComparisonEffort) -> list[Block]:
        """Pairs of builds in turns (ABBA), after one build that fills the compiler's caches."""
        ours, other = self._menu.candidate(value), self._menu.candidate(against)
        turns = [(other, ours) if n % 2 == 0 else (ours, other) for n in range(effort.pairs)]
        sequence = [other, *(side for turn in turns for side in turn)]
        blocks: list[Block] = []
        for process in range(effort.processes):
            told = self._device.rehearse_each(self._backend, sequence, timed=True)
            failed = next((each.detail for each in told if each.detail), "")
            if failed:
                raise CandidateFailed("invalid", failed)
            times = [round(each.seconds * 1e9) for each in told[1:]]
            for n in range(effort.pairs):
                pair = times[2 * n : 2 * n + 2]
                first, second = pair if n % 2 == 0 else reversed(pair)
                blocks.append(Block(process, (first,), (second,)))
            if ratio_interval(blocks).half_width <= _COMPILE_HALF_WIDTH:
                break
        return blocks

    def _opened(self, value: str) -> RunningSession:
        if value not in self._sessions:
            try:
                opened = self._session(self._baseline(value), "baseline")
            except CandidateFailed as error:
                raise BaselineFailed(error.outcome, str(error)) from error
            self._sessions[value] = self._open.enter_context(closing(opened))
        return self._sessions[value]

    def _session(self, build: BuildResult, role: str) -> RunningSession:
        return self._device.open(self._backend, build, role, self._context.tests.timing)

    def _close(self) -> None:
        self._sessions.clear()
        self._open.close()
