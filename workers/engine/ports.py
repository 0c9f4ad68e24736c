"""The four doors of the engine. Whatever stands behind them, the loop is the same."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from hpcfair.measurement.types import Timing
from workers.engine.profile import Profile
from workers.engine.space import Space
from workers.engine.types import BuildResult, Experience, Network, Options, Prior, TargetSpec, Trial

Array = npt.NDArray[np.generic]


class Session(Protocol):
    """A loaded artefact that runs. Lives in a child process, used by one thread.

    Raises from either method are the candidate's failure.
    """

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        """Run once on arrays named as the graph's inputs; returns arrays named as its outputs."""
        ...

    def close(self) -> None:
        """Give back threads and memory."""
        ...


class Backend(Protocol):
    """A compiler or runtime: what it can try, how it builds, how its artefacts run.

    A backend object is stateless and cheap to make. ``space`` runs in the worker and must not
    import the heavy library; ``build`` and ``load`` run in a limited child process, which is given
    the backend's dotted path. ``build`` reads ``network.model_path`` and writes only inside
    ``out``. What the backend cannot do with a model it raises as
    :class:`workers.engine.errors.InvalidCandidate`, naming operator and reason.

    Attributes:
        programs: Whether builds start programs, such as a linker: their children are then allowed
            to, under every other restriction.
        opening: Options that only say how an artefact is opened: runtime options of the same name.
            Candidates that differ in nothing else share an artefact.
    """

    name: str
    programs: bool
    opening: frozenset[str]

    def probe(self, target: TargetSpec) -> dict[str, str]:
        """Versions of what this backend uses here.

        Raises:
            BackendUnavailable: a package or device is missing; the message says how to get it.
        """
        ...

    def space(self, network: Network, target: TargetSpec) -> Space:
        """Options worth trying for this workload on this target."""
        ...

    def default(self, network: Network, target: TargetSpec) -> Options:
        """The options a user gets who sets none. Always a member of :meth:`space`."""
        ...

    def reference(self, network: Network, target: TargetSpec) -> Options:
        """Options meaning "unoptimised float32": its outputs are the truth. In :meth:`space`.

        Raises:
            InvalidCandidate: this backend has no such mode, so it cannot be the reference.
        """
        ...

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        """Make the artefact of a candidate in the empty folder ``out``."""
        ...

    def load(self, build: BuildResult, target: TargetSpec) -> Session:
        """Open an artefact, through the same ``hpcfair.runtimes`` a user loads it with."""
        ...

    def profile(
        self,
        network: Network,
        target: TargetSpec,
        build: BuildResult,
        inputs: dict[str, Array],
        out: Path,
    ) -> Profile:
        """Run a build under the runtime's profiler; runs in a limited child process.

        Args:
            inputs: What it is timed on.
            out: Empty folder for the code of its kernels.

        Raises:
            InvalidCandidate: the runtime cannot tell; says why.
        """
        ...


class EnergyCounter(Protocol):
    """Something that counts the energy a part of the machine has taken.

    Attributes:
        range_uj: Microjoules after which it starts over.
        source: What it is, as in ``energy.source`` of ``hpcfair.bench/1``.
    """

    @property
    def range_uj(self) -> int: ...

    @property
    def source(self) -> str: ...

    def read(self) -> int:
        """Microjoules.

        Raises:
            OSError, ValueError: it cannot be read any more.
        """
        ...


class Device(Protocol):
    """Where candidates are built and run: here in child processes, later elsewhere.

    Use as a context manager; leaving it ends every child and deletes every build.

    Attributes:
        counters: Of the energy it takes; none where none can be read.
    """

    counters: Sequence[EnergyCounter]

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def samples(self, rows: int) -> dict[str, Array]:
        """The first ``rows`` rows of each array of the workload's samples file, by array name.

        Read in a limited child process (:func:`workers.engine.samples.read_samples`), because the
        file is a stranger's. Empty where the workload has none.

        Raises:
            CandidateFailed: the file cannot be read; carries the failure class.
        """
        ...

    def build(self, backend: str, options: Options) -> BuildResult:
        """Build a candidate; a failure is a result, not an exception."""
        ...

    def discard(self, build: BuildResult) -> None:
        """Delete the files of a build that nobody will open again."""
        ...

    def profile(
        self, backend: str, build: BuildResult, inputs: Mapping[str, Array], out: Path
    ) -> Profile:
        """Profile a build in a child process of its own; see :meth:`Backend.profile`.

        Raises:
            CandidateFailed: it cannot be profiled; carries the failure class.
        """
        ...

    def open(
        self, backend: str, build: BuildResult, role: str, inputs: Mapping[str, Array]
    ) -> "RunningSession":
        """Load a build in a child process of its own and return a handle to it.

        Args:
            role: What it is for, in logs: ``reference``, ``baseline`` or ``candidate``.
            inputs: The timing input, on which :meth:`RunningSession.time` runs.

        Raises:
            CandidateFailed: it could not be loaded; carries the failure class.
        """
        ...


class RunningSession(Protocol):
    """A session in a child process. Each call raises ``CandidateFailed`` with a failure class.

    Between calls the child only holds its memory, once the runtime's threads have come to rest.
    """

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Run once on ``inputs``; returns arrays named as the graph's outputs."""
        ...

    def time(self, runs: int, warmup: int) -> Timing:
        """Time ``runs`` consecutive runs on the timing input, after ``warmup`` untimed ones."""
        ...

    def rest(self) -> None:
        """Wait until its threads compute no more: they would disturb whoever is timed next."""
        ...

    def close(self) -> None:
        """End the child. Calling it again, or after a failure, does nothing."""
        ...


class TrialStore(Protocol):
    """Where trials go as they land, and where a resumed search finds them again."""

    def trials(self) -> Sequence[Trial]:
        """Trials this search has already paid for, by number; their build directory may be gone."""
        ...

    def history(self) -> Sequence[Prior]:
        """Measured candidates of earlier searches of the same key, best first."""
        ...

    def experience(self) -> Sequence[Experience]:
        """The newest trials of searches of other keys: other networks, toolchains, targets."""
        ...

    def add(self, trial: Trial) -> None:
        """Keep a trial durably before returning.

        Raises:
            LeaseLost: somebody else does this work now; stop at once.
        """
        ...


class Clock(Protocol):
    """Time, so that tests need none."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        ...

    def sleep(self, seconds: float) -> None: ...


class Progress(Protocol):
    """Told where the search is; may raise ``Cancelled`` or ``LeaseLost`` to end it."""

    def __call__(self, phase: str, done: int, total: int | None, message: str) -> None: ...
