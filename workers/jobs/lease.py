"""The lease of a claimed job, renewed during the work."""

import logging
import threading
import time

from django.db import connections

from hpcfair.tickets import JobTicket
from registry.errors import Conflict
from registry.services.work.attempt import job_heartbeat
from workers.engine.errors import Cancelled, LeaseLost

logger = logging.getLogger(__name__)


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
