"""The port of a job to the hub, for agents: over HTTPS, with a journal."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hpcfair.tickets import FileTicket, JobTicket
from workers.agent.files import FileStore, FileUpload
from workers.agent.journal import Journal
from workers.agent.outbox import Outbox
from workers.device.pace import ReportPace
from workers.engine.errors import LeaseLost
from workers.engine.ports import PhaseTime

#: Writes whose answer no job uses. They may wait in the journal while the work goes on.
_WITHOUT_ANSWER: Final = frozenset(
    {
        "note",
        "trial_add",
        "profile_store",
        "schedule_task_add",
        "schedule_trial_add",
        "schedule_confirm",
        "ablation_add",
        "cross_application_add",
        "pass_trial_add",
        "portfolio_store",
        "reproduction_add",
    }
)
_CANDIDATE = "candidate_begin"


class HttpHub:
    """A :class:`~workers.device.ports.Hub` that sends requests. Used by one thread."""

    def __init__(
        self, ticket: JobTicket, outbox: Outbox, journal: Journal, store: FileStore
    ) -> None:
        self.ticket = ticket
        self._outbox = outbox
        self._journal = journal
        self._store = store
        self._pace = ReportPace()

    def now(self) -> datetime:
        return self._outbox.connection.now()

    def read(self, name: str, **parameters: Any) -> Any:
        return self._outbox.read(name, parameters)

    def write(self, name: str, **columns: Any) -> Any:
        self.check()
        if name == _CANDIDATE:
            # The hub must know the candidate before it can take this machine down.
            self._journal.note_candidate(columns["config_sha256"])
            self._outbox.hint(name, columns)
            return {}
        answer = self._outbox.write(name, columns, needs_answer=name not in _WITHOUT_ANSWER)
        return {} if answer is None else answer

    def fetch(self, files: Iterable[FileTicket], folder: Path) -> None:
        self._store.fetch(self._outbox, self.ticket.job_uuid, files, folder)

    def keep(self, path: Path) -> str:
        upload = FileUpload(self._outbox, self.ticket.job_uuid, self.ticket.fence, path)
        upload.send()
        return upload.sha256

    def check(self) -> None:
        self._outbox.check()

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
        self._outbox.hint("progress", columns)

    def give_way(self) -> None:
        if self._outbox.is_away:
            return
        if self.read("is_search_due"):
            self.write("yield")
            raise LeaseLost("the background job yields to a search")
