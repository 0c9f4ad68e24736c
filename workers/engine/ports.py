"""The four doors of the engine. Whatever stands behind them, the loop is the same."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workers.engine.space import Space
from workers.engine.types import BuildResult, Candidate, Options, TargetSpec, Trial, Workload

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
    the backend's dotted path. ``build`` reads ``workload.model_path`` and writes only inside
    ``out``. What the backend cannot do with a model it raises as
    :class:`workers.engine.errors.InvalidCandidate`, naming operator and reason.
    """

    name: str

    def probe(self, target: TargetSpec) -> dict[str, str]:
        """Versions of what this backend uses here.

        Raises:
            BackendUnavailable: a package or device is missing; the message says how to get it.
        """
        ...

    def space(self, workload: Workload, target: TargetSpec) -> Space:
        """Options worth trying for this workload on this target."""
        ...

    def default(self, workload: Workload, target: TargetSpec) -> Options:
        """The options a user gets who sets none. Always a member of :meth:`space`."""
        ...

    def build(
        self, workload: Workload, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        """Make the artefact of a candidate in the empty folder ``out``."""
        ...

    def load(self, build: BuildResult, target: TargetSpec) -> Session:
        """Open an artefact, through the same ``hpcfair.runtimes`` a user loads it with."""
        ...


class Device(Protocol):
    """Where candidates are built and run: here in child processes, later elsewhere.

    Use as a context manager; leaving it ends every child.
    """

    def build(self, backend: str, options: Options) -> BuildResult:
        """Build a candidate; a failure is a result, not an exception."""
        ...

    def open(self, backend: str, build: BuildResult, role: str) -> "RunningSession":
        """Load a build in a child process of its own and return a handle to it.

        Raises:
            CandidateFailed: it could not be loaded; carries the failure class.
        """
        ...


class RunningSession(Protocol):
    """A session in a child process. Each call raises ``CandidateFailed`` with a failure class."""

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]: ...

    def time(self, runs: int, warmup: int) -> Sequence[int]:
        """Nanoseconds of ``runs`` consecutive runs on the timing input, after ``warmup`` untimed."""
        ...

    def close(self) -> None: ...


class RecordStore(Protocol):
    """Where trials go as they land, and where a resumed search finds them again."""

    def trials(self) -> Sequence[Trial]:
        """Trials this search has already paid for, by number; their build directory may be gone."""
        ...

    def history(self) -> Sequence[tuple[Candidate, float]]:
        """Candidates and ratios from earlier searches of the same key: what to try first."""
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
