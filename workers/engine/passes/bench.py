"""Lists of passes side by side: what they cost to compile, what their code takes to run."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from statistics import median
from typing import Protocol

from workers.engine.errors import BaselineFailed, CandidateFailed, RigFailed, WrongOutput
from workers.engine.measure import measure_into
from workers.engine.numerics import Checked, require
from workers.engine.passes.device import CompilingDevice
from workers.engine.passes.menu import DEFAULT, Menu
from workers.engine.passes.objective import Finding, is_open
from workers.engine.ports import RunningSession
from workers.engine.ratios import half_width, ratio_interval
from workers.engine.rig import Rig
from workers.engine.rounds import Rounds, Rule
from workers.engine.types import Block, BuildResult, Interval, Measurement

#: Relative half-width at which a ratio of compile times is known well enough.
_COMPILE_HALF_WIDTH = 0.03


@dataclass(frozen=True, slots=True)
class Effort:
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


class Judge(Protocol):
    """Tells what lists of passes are worth on one network. Tests simulate it."""

    def fingerprints(self, values: Sequence[str]) -> list[str]:
        """Of each list what tells its code from others', empty if that cannot be told."""
        ...

    def judge(self, value: str, effort: Effort, against: str = DEFAULT) -> Finding:
        """Compare a list with another; a failure is a finding.

        Raises:
            CandidateFailed: the other one cannot be built.
            RigFailed: it does not run, which it did before.
        """
        ...


class Bench:
    """A :class:`Judge` on a rig. Use as a context manager: it keeps builds and sessions open.

    Args:
        backend: Name of the backend whose passes are chosen.
    """

    def __init__(self, rig: Rig, device: CompilingDevice, backend: str, menu: Menu) -> None:
        self._rig = rig
        self._device = device
        self._backend = backend
        self._menu = menu
        self._builds: dict[str, BuildResult] = {}
        self._open = ExitStack()
        self._sessions: dict[str, RunningSession] = {}
        self._checked: dict[str, Checked] = {}

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def fingerprints(self, values: Sequence[str]) -> list[str]:
        """See :meth:`Judge.fingerprints`."""
        try:
            candidates = [self._menu.candidate(value) for value in values]
            compiled = self._device.rehearse_each(self._backend, candidates, timed=False)
        except CandidateFailed:
            return [""] * len(values)
        return [each.fingerprint for each in compiled]

    def judge(self, value: str, effort: Effort, against: str = DEFAULT) -> Finding:
        """See :meth:`Judge.judge`."""
        other = self._baseline(against)
        build = self._device.build(self._backend, self._menu.candidate(value))
        if build.outcome != "measured":
            return Finding(build.outcome, build.detail)
        fingerprint = str(build.provenance.get("fingerprint", ""))
        same = bool(fingerprint) and fingerprint == other.provenance.get("fingerprint")
        try:
            measured = None if same else self._latency(build, against, effort)
            blocks = self._compile(value, against, effort)
        except CandidateFailed as error:
            return Finding(error.outcome, str(error), fingerprint=fingerprint)
        except WrongOutput as error:
            return Finding("wrong-output", str(error), fingerprint=fingerprint)
        except BaselineFailed as error:
            raise RigFailed(f"passes {against}: {error}") from error
        finally:
            self._device.discard(build)
        return Finding(
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

    def _latency(self, build: BuildResult, against: str, effort: Effort) -> Measurement:
        rule = Rule(effort.half_width, effort.seconds)
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
        self, rounds: Rounds, build: BuildResult, against: str, rule: Rule, process: int
    ) -> None:
        """Add the rounds of one more pair of processes; the first checks the outputs, too."""
        if process:
            self._close()
        with closing(self._session(build, "candidate")) as session:
            if not process:
                self._check(session, build, against)
            measure_into(
                rounds, self._opened(against), session, rule, self._rig.clock, process=process
            )

    def _check(self, session: RunningSession, build: BuildResult, against: str) -> None:
        """Refuse outputs beyond the limits, or farther off than the other list's: whether that
        hands on NaN and infinity, which some compilers do not, is not for a list to mend."""
        accuracy = self._rig.reference_accuracy
        if against not in self._checked:
            other = self._rig.compare(self._opened(against))
            require(other, build.tolerance, None, accuracy)
            self._checked[against] = other
        require(self._rig.compare(session), build.tolerance, self._checked[against], accuracy)

    def _compile(self, value: str, against: str, effort: Effort) -> list[Block]:
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
            if half_width(ratio_interval(blocks)) <= _COMPILE_HALF_WIDTH:
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
        return self._device.open(self._backend, build, role, self._rig.tests.timing)

    def _close(self) -> None:
        self._sessions.clear()
        self._open.close()
