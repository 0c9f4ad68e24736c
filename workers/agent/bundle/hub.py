"""The hub as the jobs of a bundle see it: reads from the bundle, writes into the journal."""

import shutil
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hpcfair.bundle import BundleInvalid
from hpcfair.bundlefile import BundleFile
from hpcfair.digest import sha256_of_json
from hpcfair.tickets import FileTicket, JobTicket
from workers.agent.bundle.answers import OF_DEVICE, BundleAnswers, tensor_ticket
from workers.agent.bundle.journal import BundleJournal
from workers.agent.stop import Stop
from workers.device.errors import HubError
from workers.device.pace import ReportPace
from workers.device.workspace import destination
from workers.engine.ports import PhaseTime

#: Writes that the hub accepts in the results of a bundle.
WRITES = frozenset(
    {
        "note", "trial_add", "record_add", "builds_publish", "builds_add", "profile_store",
        "schedule_task_add", "schedule_trial_add", "schedule_confirm", "pass_trial_add",
        "portfolio_store", "plan_follow_up", "reproduction_add", "tests_store", "roofs_store",
        "ablation_add", "cross_application_add",
    }
)  # fmt: skip


class BundleClock:
    """The hub's time, as a device without a network estimates it.

    The device's clock is used if it lies between the export and the end of the lease. Otherwise
    time starts at the export.
    """

    def __init__(self, created_at: str, lease_until: str) -> None:
        first, last = datetime.fromisoformat(created_at), datetime.fromisoformat(lease_until)
        now = datetime.now(UTC)
        self._start = now if first <= now <= last else first
        self._started = time.monotonic()

    def now(self) -> datetime:
        """The time in UTC."""
        return self._start + timedelta(seconds=time.monotonic() - self._started)


class BundleHub:
    """A :class:`~workers.device.ports.Hub` of one job of a bundle."""

    def __init__(
        self,
        ticket: JobTicket,
        bundle: BundleFile,
        answers: BundleAnswers,
        journal: BundleJournal,
        clock: BundleClock,
        stop: Stop,
    ) -> None:
        self._ticket = ticket
        self._bundle = bundle
        self._answers = answers
        self._journal = journal
        self._clock = clock
        self._stop = stop
        self._pace = ReportPace()

    @property
    def ticket(self) -> JobTicket:
        return self._ticket

    def now(self) -> datetime:
        return self._clock.now()

    def read(self, name: str, **parameters: Any) -> Any:
        job = self._ticket.job_uuid
        own = self._journal.entries(job).writes
        writes = self._journal.writes() if name in OF_DEVICE else own
        return self._answers.answer(job, name, parameters, writes)

    def write(self, name: str, **columns: Any) -> Any:
        """Store a write in the journal; returns the hub's reply, except for values that only
        the hub assigns, such as the UUIDs of builds."""
        self.check()
        if name == "candidate_begin":
            sha256 = columns["config_sha256"]
            self._journal.candidate(self._ticket.job_uuid, self._ticket.fence, sha256)
            return {}
        if name not in WRITES:
            raise HubError("invalid_request", f"The write {name!r} is not possible in a bundle.")
        self._journal.write(self._ticket.job_uuid, self._ticket.fence, name, columns)
        if name == "record_add":
            return {"record_id": _record_id(columns["document"])}
        if name == "tests_store":
            return [tensor_ticket(tensor) for tensor in columns["tensors"]]
        return {}

    def fetch(self, files: Iterable[FileTicket], folder: Path) -> None:
        for file in files:
            path = destination(folder, file)
            own = self._journal.blob(file.sha256)
            if own is not None:
                shutil.copyfile(own, path)
                continue
            try:
                self._bundle.copy(file.sha256, path)
            except KeyError:
                detail = f"The bundle has no file {file.path[:200]!r}."
                raise HubError("blob_not_found", detail) from None
            except BundleInvalid as error:
                raise HubError("digest_mismatch", f"The bundle has changed: {error}.") from error

    def keep(self, path: Path) -> str:
        return self._journal.keep(self._ticket.job_uuid, self._ticket.fence, path)

    def check(self) -> None:
        self._stop.check()

    def progress(
        self,
        phase: str,
        done: int,
        total: int | None,
        message: str,
        phase_time: PhaseTime | None = None,  # noqa: ARG002 - people see no budget here
    ) -> None:
        self.check()
        if self._pace.is_due(phase, done):
            steps = f"{done}/{total}" if total else f"{done}"
            print(f"{self._ticket.mlmodel} {phase} {steps} {message}", file=sys.stderr, flush=True)

    def give_way(self) -> None:
        """Do nothing: no other jobs wait for this device."""
        self.check()


def _record_id(document: dict[str, Any]) -> str:
    """The id of a benchmark record, as the hub computes it."""
    content = {name: value for name, value in document.items() if name != "record_id"}
    return sha256_of_json(content)
