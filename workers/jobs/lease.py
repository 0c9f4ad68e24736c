"""The lease of a claimed job: renewed during the work, yielded to searches."""

import logging
import threading
import time
from typing import NoReturn

from django.db import connections

from registry.errors import Conflict
from registry.selectors.work.queue import is_search_due
from registry.services.work.attempt import job_heartbeat, job_progress, job_yield
from registry.tickets import JobTicket
from workers.engine.errors import Cancelled, LeaseLost
from workers.engine.ports import PhaseTime

logger = logging.getLogger(__name__)

_PROGRESS_EVERY_S = 0.5


class Lease:
    """Renews a job's lease in a thread, four times per lease.

    Heavy work runs in child processes, so heartbeats are delayed by milliseconds only. If they fail
    for longer than the lease, it counts as lost, because another worker may have claimed the job.
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

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def check(self) -> None:
        """Raise ``LeaseLost`` or ``Cancelled`` if the lease was lost or the job cancelled."""
        if self._lost:
            raise LeaseLost(f"the lease of job {self._ticket.job_uuid} was lost")
        if self._cancelled:
            raise Cancelled(f"job {self._ticket.job_uuid} was cancelled")

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
                used_s=phase_time.used_s if phase_time else None,
                budget_s=phase_time.budget_s if phase_time else None,
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
            # Without a database the work may continue until the lease expires.
            logger.exception("heartbeat of job %s failed", self._ticket.job_uuid)
            connections.close_all()
            self._lost = started_at - self._renewed_at > self._ticket.lease_s
        else:
            self._renewed_at = started_at
            self._cancelled = reply.cancel


def give_way(ticket: JobTicket) -> None:
    """Yield a background job if a search is due; its stored results are reused by the next attempt.
    Raises LeaseLost if the job was yielded, or its lease was lost."""
    if not is_search_due(ticket.job_uuid):
        return
    try:
        job_yield(job_uuid=ticket.job_uuid, fence=ticket.fence)
    except Conflict as error:
        raise LeaseLost(str(error)) from error
    raise LeaseLost("the background job yields to a search")


def give_way_to_quick(ticket: JobTicket, *, estimate_s: float) -> NoReturn:
    """Yield a job that takes longer than most, so that others come first; the next attempt is
    expected to take ``estimate_s`` seconds. Raises LeaseLost."""
    reason = "It takes long: shorter jobs come first."
    try:
        job_yield(
            job_uuid=ticket.job_uuid, fence=ticket.fence, reason=reason, estimate_s=estimate_s
        )
    except Conflict as error:
        raise LeaseLost(str(error)) from error
    raise LeaseLost("the job yields to shorter ones")
