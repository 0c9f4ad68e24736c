"""The port of a job to the hub, for workers that reach the hub's database."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hpcfair.tickets import FileTicket, JobTicket
from registry.errors import Conflict, RegistryError
from registry.selectors.storage.blob import blob_path_of
from registry.services.storage.blob import blob_adopt
from registry.services.work.operations import job_read, job_write
from workers.device.errors import HubError
from workers.device.pace import ReportPace
from workers.device.workspace import destination
from workers.engine.errors import LeaseLost
from workers.engine.ports import PhaseTime
from workers.jobs.lease import Lease


@contextmanager
def refusals() -> Iterator[None]:
    """Translate errors of the registry into those of the port: LeaseLost, HubError."""
    try:
        yield
    except Conflict as error:
        raise LeaseLost(str(error)) from error
    except RegistryError as error:
        raise HubError(error.code, str(error)) from error


class RegistryHub:
    """A :class:`~workers.device.ports.Hub` that calls the registry. Used within its lease."""

    def __init__(self, ticket: JobTicket, lease: Lease) -> None:
        self.ticket = ticket
        self._lease = lease
        self._pace = ReportPace()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def read(self, name: str, **parameters: Any) -> Any:
        with refusals():
            return job_read(
                job_uuid=self.ticket.job_uuid,
                fence=self.ticket.fence,
                name=name,
                parameters=parameters,
            )

    def write(self, name: str, **columns: Any) -> Any:
        with refusals():
            return job_write(
                job_uuid=self.ticket.job_uuid, fence=self.ticket.fence, name=name, columns=columns
            )

    def fetch(self, files: Iterable[FileTicket], folder: Path) -> None:
        for file in files:
            place = destination(folder, file)
            with refusals():
                blob = blob_path_of(file.sha256)
            # copyfile uses copy_file_range, which shares blocks on file systems that support it.
            shutil.copyfile(blob, place)

    def keep(self, path: Path) -> str:
        with refusals():
            return blob_adopt(path=path).sha256

    def check(self) -> None:
        self._lease.check()

    def progress(
        self,
        phase: str,
        done: int,
        total: int | None,
        message: str,
        phase_time: PhaseTime | None = None,
    ) -> None:
        self.check()
        if not self._pace.is_due(phase, done):
            return
        columns: dict[str, Any] = {"phase": phase, "done": done, "total": total, "message": message}
        if phase_time is not None:
            columns |= {"used_s": phase_time.used_s, "budget_s": phase_time.budget_s}
        self.write("progress", **columns)

    def give_way(self) -> None:
        if self.read("is_search_due"):
            self.write("yield")
            raise LeaseLost("the background job yields to a search")
