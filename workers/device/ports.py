"""The port through which a claimed job reaches the hub, and the device's settings for its jobs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from hpcfair.tickets import FileTicket, JobTicket
from workers.engine.normalform import NormalForm
from workers.engine.othermachine import OtherMachine
from workers.engine.ports import Backend, Device, EnergyCounter, PhaseTime
from workers.engine.queries.device import LocalBatchDevice
from workers.engine.requests import TuningRequest


class JobDevice(Device, Protocol):
    """A device of the engine, as jobs use it."""

    @property
    def isolation(self) -> str | None:
        """The weakest isolation level of the child processes so far; ``None`` before the first."""
        ...

    @property
    def normal_form(self) -> NormalForm | None:
        """The normal form of the network; ``None`` before the first build that reads it."""
        ...

    def fault_of(self, backend: str) -> str:
        """Why a backend can build or open nothing; empty if it can."""
        ...


class OpenServer(Protocol):
    """Creates the engine's device that runs builds on a server."""

    def __call__(
        self, request: TuningRequest, backends: Mapping[str, Backend], scratch: Path
    ) -> JobDevice: ...


@dataclass(frozen=True, slots=True)
class BuildServer:
    """A server that runs the builds of one backend, on a device without Python.

    Attributes:
        backend: Name of the backend, whose defaults are also the baseline there.
        open: Creates the engine's device that runs builds on the server.
    """

    backend: str
    open: OpenServer


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """Settings of this machine for the jobs that run on it.

    Attributes:
        work: Folder of private workspaces, created on first use.
        child_memory_bytes: Memory limit of a child process in bytes.
        isolation: The least confinement of child processes that is accepted, one of
            :data:`hpcfair.isolation.sandbox.LEVELS`.
        server: Server that runs the builds in place of child processes.
    """

    work: Path
    child_memory_bytes: int
    isolation: str = "rlimits"
    server: BuildServer | None = None

    def device(
        self,
        request: TuningRequest,
        backends: Mapping[str, Backend],
        scratch: Path,
        counters: Sequence[EnergyCounter] = (),
        other: OtherMachine | None = None,
    ) -> JobDevice:
        """The engine's device for a job; arguments of
        :class:`~workers.engine.queries.device.LocalBatchDevice`."""
        if self.server is not None:
            return self.server.open(request, backends, scratch)
        return LocalBatchDevice(request, backends, scratch, counters, other)

    def names(self, requested: Iterable[str] | None = None) -> list[str] | None:
        """The requested backends whose builds can run here; ``None`` means all."""
        if self.server is None:
            return None if requested is None else list(requested)
        is_included = requested is None or self.server.backend in requested
        return [self.server.backend] if is_included else []


class Hub(Protocol):
    """Reads and writes of one claimed job.

    Values are JSON: lists, not tuples; bytes as base64 text; times as ISO 8601. Names, parameters
    and columns of reads and writes are those of ``registry/services/work/operations.py``. The job,
    its fence and its target are the ticket's, and never passed.

    Every method may raise LeaseLost: nothing was written, and the work must end. Methods that read
    or write may raise :class:`~workers.device.errors.HubError`: the hub refused.
    """

    @property
    def ticket(self) -> JobTicket:
        """The claimed job."""
        ...

    def now(self) -> datetime:
        """The hub's time, in UTC. The clock of this machine may be wrong by years."""
        ...

    def read(self, name: str, **parameters: Any) -> Any:
        """Read a value that the hub stores for this job, its network or its target."""
        ...

    def write(self, name: str, **columns: Any) -> Any:
        """Store something under the job's fence, durably and at most once; returns the hub's
        answer."""
        ...

    def fetch(self, files: Iterable[FileTicket], folder: Path) -> None:
        """Copy files of the job into ``folder``, where each has the path of its ticket.

        Not links: ONNX rejects links to external data, and untrusted processes could write to the
        originals. Bytes that came over a network have the digest of their ticket. Raises HubError
        for a path outside ``folder`` and for bytes that are missing.
        """
        ...

    def keep(self, path: Path) -> str:
        """Store the bytes of a file for the writes that name them; returns their SHA-256."""
        ...

    def check(self) -> None:
        """Raise LeaseLost if the lease was lost, or Cancelled if the job was cancelled."""
        ...

    def progress(
        self,
        phase: str,
        done: int,
        total: int | None,
        message: str,
        phase_time: PhaseTime | None = None,
    ) -> None:
        """Report progress, for people: at most twice a second, except for a new step. Raises
        LeaseLost and Cancelled as :meth:`check`."""
        ...

    def give_way(self) -> None:
        """Yield a background job if a search or a run waits. The next attempt reuses its stored
        results. Raises LeaseLost if the job was yielded."""
        ...
