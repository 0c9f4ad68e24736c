"""Keeps a claimed job ours while the work goes on."""

import logging
import threading
import time
from types import TracebackType

from django.db import connections

from registry.errors import Conflict
from registry.services.work.attempt import job_heartbeat, job_progress
from registry.tickets import JobTicket
from workers.engine.errors import Cancelled, LeaseLost

logger = logging.getLogger(__name__)

_PROGRESS_EVERY_S = 0.5


class Lease:
    """Renews a job's lease from a thread of its own, four times per lease.

    The thread only sleeps and writes one row; all heavy work runs in child processes, so a busy
    processor delays a beat by milliseconds, not by a lease. Where beats fail for longer than the
    lease lasts (database away), the lease counts as lost: somebody else may have the job.
    """

    def __init__(self, ticket: JobTicket) -> None:
        self._ticket = ticket
        self._stop = threading.Event()
        self._lost = False
        self._cancelled = False
        self._renewed_at = time.monotonic()
        self._reported_at = 0.0
        self._reported: tuple[str, int] = ("", -1)
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> "Lease":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def check(self) -> None:
        """Raise ``LeaseLost`` or ``Cancelled`` if the work is no longer ours or wanted."""
        if self._lost:
            raise LeaseLost(f"job {self._ticket.job_uuid} is somebody else's now")
        if self._cancelled:
            raise Cancelled(f"job {self._ticket.job_uuid} was cancelled")

    def progress(self, phase: str, done: int, total: int | None, message: str) -> None:
        """Tell people where the work is; at most twice a second, except for a new step."""
        self.check()
        now = time.monotonic()
        if (phase, done) == self._reported and now - self._reported_at < _PROGRESS_EVERY_S:
            return
        self._reported, self._reported_at = (phase, done), now
        try:
            job_progress(
                job_uuid=self._ticket.job_uuid,
                fence=self._ticket.fence,
                phase=phase,
                done=done,
                total=total,
                message=message,
            )
        except Conflict as error:
            self._lost = True
            raise LeaseLost(str(error)) from error

    def _beat(self) -> None:
        try:
            while not self._stop.wait(self._ticket.lease_s / 4):
                self._renew()
                if self._lost or self._cancelled:
                    return
        finally:
            connections.close_all()

    def _renew(self) -> None:
        started_at = time.monotonic()
        try:
            reply = job_heartbeat(job_uuid=self._ticket.job_uuid, fence=self._ticket.fence)
        except Conflict:
            self._lost = True
        except Exception:
            # Whatever keeps the database away, the work may go on for as long as the lease lasts.
            logger.exception("heartbeat of job %s failed", self._ticket.job_uuid)
            connections.close_all()
            self._lost = started_at - self._renewed_at > self._ticket.lease_s
        else:
            self._renewed_at = started_at
            self._cancelled = reply.cancel
