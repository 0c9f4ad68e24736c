"""The interfaces between the search and its environment: device, trial store, clock, progress."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
import numpy.typing as npt

from hpcfair.measurement.types import Timing
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.trials import Experience, Prior, Trial
from workers.engine.types import BuildResult, Candidate, Network, Options, TargetSpec

if TYPE_CHECKING:
    from workers.engine.testset import TestSet

Array = npt.NDArray[np.generic]


class Session(Protocol):
    """A loaded artefact that runs, in a child process. Used by one thread. An exception from either
    method is the candidate's failure."""

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        """Run once on arrays by input name; returns arrays by output name."""
        ...

    def close(self) -> None:
        """Release threads and memory."""
        ...


class Backend(Protocol):
    """A compiler or runtime: its options, how it builds, how its artefacts run.

    A backend object is stateless and cheap to create. ``space`` runs in the worker and must not
    import the heavy library; ``build`` and ``load`` run in a limited child process, which receives
    the backend's dotted path. ``build`` reads ``network.source_path`` and writes only inside
    ``out``. What a backend cannot do it raises as InvalidCandidate, naming operator and reason.

    Attributes:
        programs: Whether builds start programs, such as a linker. Their children are then allowed
            to, under every other restriction.
        opening: Options that affect only how an artefact is opened: runtime options of the same
            name. Candidates that differ in nothing else share an artefact.
        has_code: Whether profiles contain the code of the kernels.
    """

    name: str
    programs: bool
    opening: frozenset[str]
    has_code: bool

    def probe(self, target: TargetSpec) -> dict[str, str]:
        """Package name to version, of all that this backend uses on this machine. Raises
        BackendUnavailable if a package or device is missing; the message says how to install it."""
        ...

    def require(self, network: Network, target: TargetSpec) -> None:
        """Refuse a network for which nothing can be built or opened on this machine. Runs in a
        limited child process, before a search. Raises BackendUnavailable."""
        ...

    def space(self, network: Network, target: TargetSpec) -> Space:
        """The options worth trying for this network on this target."""
        ...

    def reads_normal_form(self, options: Options) -> bool:
        """Whether builds use the normal form: not the reference, the baseline, or other formats."""
        ...

    def default(self, network: Network, target: TargetSpec) -> Options:
        """The options that apply if a user sets none. Always a member of :meth:`space`."""
        ...

    def reference(self, network: Network, target: TargetSpec) -> Options:
        """The options for unoptimised float32, the reference for outputs. In :meth:`space`. Raises
        InvalidCandidate if the backend has no such mode, so it cannot be the reference."""
        ...

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        """Build the artefact of a candidate in the empty folder ``out``."""
        ...

    def load(self, build: BuildResult, target: TargetSpec) -> Session:
        """Open an artefact through ``hpcfair.runtimes``, as a user does."""
        ...

    def profile(
        self,
        network: Network,
        target: TargetSpec,
        build: BuildResult,
        inputs: dict[str, Array],
        out: Path,
    ) -> Profile:
        """Run a build under the runtime's profiler. Runs in a limited child process.

        ``inputs`` is the timing input, ``out`` an empty folder for the code of the kernels. Raises
        InvalidCandidate, with the reason, if the runtime has no profile.
        """
        ...


class EnergyCounter(Protocol):
    """Counts the energy that a part of the machine consumes.

    Attributes:
        range_uj: Microjoules after which the counter wraps around.
        source: As ``energy.source`` of ``hpcfair.bench/1``.
    """

    @property
    def range_uj(self) -> int: ...

    @property
    def source(self) -> str: ...

    def read(self) -> int:
        """The counter in microjoules; raises OSError or ValueError if it is unreadable."""
        ...


class Builder(Protocol):
    """Builds candidates, on the machine that runs them or on another one."""

    def build(self, backend: str, options: Options) -> BuildResult:
        """Build a candidate. A failure is a result, not an exception."""
        ...

    def discard(self, build: BuildResult) -> None:
        """Delete the files of a build that is not needed any more."""
        ...


class Runner(Protocol):
    """Runs builds on the target's machine. ``counters`` are the energy counters that can be read
    there."""

    counters: Sequence[EnergyCounter]

    def test_set(self, rows: int, seed: int) -> "TestSet":
        """The test set of the network: at most ``rows`` rows of its samples, else random tensors of
        ``seed``.

        Made in a limited child process (:func:`workers.engine.testset.make_test_set`), because the
        network's file determines what is read. Raises CandidateFailed if there is none.
        """
        ...

    def profile(
        self, backend: str, build: BuildResult, inputs: Mapping[str, Array], out: Path
    ) -> Profile:
        """Profile a build in a child process of its own; see :meth:`Backend.profile`. Raises
        CandidateFailed, with the failure class, if it cannot be profiled."""
        ...

    def open(
        self, backend: str, build: BuildResult, role: str, inputs: Mapping[str, Array]
    ) -> "RunningSession":
        """Load a build in a child process of its own.

        Args:
            role: Its purpose, for logs: ``reference``, ``baseline`` or ``candidate``.
            inputs: The timing input, on which :meth:`RunningSession.time` runs.

        Raises CandidateFailed, with the failure class, if it could not be loaded.
        """
        ...


class Device(Builder, Runner, Protocol):
    """Builds and runs candidates. Use as a context manager. Leaving it ends every child process and
    deletes every build."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class RunningSession(Protocol):
    """A session in a child process. Each call may raise ``CandidateFailed``. Between calls the
    child only holds its memory, once the runtime's threads are idle."""

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Run once on ``inputs``; returns arrays by output name."""
        ...

    def time(self, runs: int, warmup: int) -> Timing:
        """Time ``runs`` consecutive runs on the timing input, after ``warmup`` untimed ones."""
        ...

    def rest(self) -> None:
        """Return once its threads are idle: they would disturb the next timing."""
        ...

    def close(self) -> None:
        """End the child. Repeated calls, also after a failure, have no effect."""
        ...


class TrialStore(Protocol):
    """Stores the trials of a search, for later attempts and later searches."""

    def trials(self) -> Sequence[Trial]:
        """Trials of this search by number; their builds' files may be gone."""
        ...

    def history(self) -> Sequence[Prior]:
        """Measured candidates of earlier searches of the same key, best first."""
        ...

    def experience(self) -> Sequence[Experience]:
        """The newest trials of searches of other keys: other networks, toolchains, targets."""
        ...

    def begin(self, candidate: Candidate) -> None:
        """Store which candidate is tried next, before it runs: if the machine goes down, the
        candidate is suspected. Raises LeaseLost as :meth:`add`."""
        ...

    def add(self, trial: Trial) -> None:
        """Store a trial durably before returning. Raises LeaseLost if another worker has taken over
        the job; stop at once."""
        ...


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """Seconds that a phase has used, those of earlier attempts included, and its budget."""

    used_s: float
    budget_s: float | None


class Progress(Protocol):
    """Receives the progress of a search; may raise ``Cancelled`` or ``LeaseLost`` to end it.

    ``message`` names what is tried now; ``phase_time`` is given for phases that have a budget.
    """

    def __call__(
        self,
        phase: str,
        done: int,
        total: int | None,
        message: str,
        phase_time: PhaseTime | None = None,
    ) -> None: ...


def no_progress(
    phase: str, done: int, total: int | None, message: str, phase_time: PhaseTime | None = None
) -> None:
    """Discard progress reports."""
