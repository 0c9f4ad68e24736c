"""Does the jobs that this device has claimed, reports their ends, and continues after a crash."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hpcfair.tickets import JobTicket
from workers.agent.connection import HubConnection
from workers.agent.devicekey import DeviceKey
from workers.agent.files import FileStore
from workers.agent.heartbeat import Heartbeat, HeldJob
from workers.agent.httphub import HttpHub
from workers.agent.journal import Journal, OpenClaim
from workers.agent.outbox import Outbox
from workers.agent.report import signed_report
from workers.agent.stop import Stop
from workers.device.end import End, end_of
from workers.device.errors import HubError, JobFailure
from workers.device.kinds import WORK, kinds_of
from workers.device.ports import DeviceSettings
from workers.engine.errors import Cancelled, LeaseLost
from workers.fleet.probe import ThisMachine

logger = logging.getLogger(__name__)

#: Starts of the work on one claim after which it is given up.
_MOST_STARTS = 3
#: Seconds that an ending agent spends on reporting the jobs that it hands back.
_FAREWELL_S = 20.0
#: Failure code of a job during which the agent or the machine went down.
_TAKEN_DOWN = "job_interrupted"


class ClaimedJobs:
    """Does claimed jobs, one at a time. Used in the main thread.

    Attributes:
        store: Files of jobs.
        settings: Settings of this machine for jobs.
    """

    def __init__(
        self,
        connection: HubConnection,
        key: DeviceKey,
        journal: Journal,
        store: FileStore,
        heartbeat: Heartbeat,
        stop: Stop,
        settings: DeviceSettings,
    ) -> None:
        self.store = store
        self.settings = settings
        self._connection = connection
        self._key = key
        self._journal = journal
        self._heartbeat = heartbeat
        self._stop = stop

    @property
    def kinds(self) -> list[str]:
        """The kinds of jobs that this device does."""
        return kinds_of(self.settings)

    def perform(self, ticket: dict[str, Any], here: ThisMachine) -> None:
        """Do a job that was claimed just now; failures of the job are not raised.

        Args:
            ticket: The ticket as JSON.
        """
        parsed = JobTicket.from_json(ticket)
        self._journal.begin(ticket)
        self._do(parsed, here)

    def hold(self) -> None:
        """Renew the lease of the claim that an earlier process of this agent has left open, until
        :meth:`resume`."""
        if claim := self._journal.claim():
            self._heartbeat.hold(_held_job(JobTicket.from_json(claim.ticket)))

    def resume(self, here: ThisMachine) -> None:
        """Finish the claim that an earlier process of this agent has left open, if any.

        The work begins again and reuses what is stored at the hub, unless it seems to take the
        machine down: then the claim ends.
        """
        claim = self._journal.claim()
        if claim is None:
            return
        ticket = JobTicket.from_json(claim.ticket)
        if claim.report is None and self._may_begin(claim):
            logger.info("continues with job %s", ticket.job_uuid)
            self._journal.begin_again()
            self._do(ticket, here)
            return
        try:
            if claim.report is None:
                self._journal.end(signed_report(ticket, _end_of_abandoned(claim), self._key))
            self._settle(ticket)
        finally:
            self._heartbeat.release()

    def _may_begin(self, claim: OpenClaim) -> bool:
        took_down = claim.candidate and not claim.is_of_this_boot
        return claim.starts < _MOST_STARTS and not took_down and not self._stop.is_requested

    def _do(self, ticket: JobTicket, here: ThisMachine) -> None:
        logger.info("%s %s: attempt %d", ticket.kind, ticket.mlmodel, ticket.attempt)
        self._heartbeat.hold(_held_job(ticket))
        try:
            end = end_of(ticket, lambda: self._work(ticket, here))
            if end.outcome == "lost":
                self._journal.clear()
            else:
                self._journal.end(signed_report(ticket, end, self._key))
                self._settle(ticket)
        finally:
            self._heartbeat.release()
            self.store.trim()

    def _work(self, ticket: JobTicket, here: ThisMachine) -> dict[str, Any]:
        if ticket.kind not in WORK:
            detail = f"This agent cannot do jobs of the kind {ticket.kind!r}."
            raise JobFailure("infrastructure", "internal_error", detail)
        with self._stop.interruptible():
            outbox = self._outbox(ticket, self._check)
            hub = HttpHub(ticket, outbox, self._journal, self.store)
            result = WORK[ticket.kind](hub, self.settings, replace(here, device=ticket.device))
            outbox.flush()
            logger.info("%s %s: %s", ticket.kind, ticket.mlmodel, result["summary"])
            return result

    def _check(self) -> None:
        self._stop.check()
        # An answer that is read only in part would be lost.
        with self._stop.deferred():
            self._heartbeat.check()

    def _outbox(self, ticket: JobTicket, check: Callable[[], None]) -> Outbox:
        return Outbox(self._connection, self._journal, self._stop, _held_job(ticket), check)

    def _settle(self, ticket: JobTicket) -> None:
        """Send the journal of a claim whose work has ended.

        An agent that has to end gives up after some seconds; the next process sends the rest.
        """
        claim = self._journal.claim()
        assert claim  # noqa: S101  the callers have stored it
        report = claim.report or {}
        patient_until = time.monotonic() + _FAREWELL_S

        def check() -> None:
            self._heartbeat.listen()
            if self._stop.is_requested and time.monotonic() > patient_until:
                raise Cancelled("the hub does not answer; the end is reported at the next start")

        outbox = self._outbox(ticket, check)
        try:
            self._send_rest(outbox, claim)
            answer = outbox.end(report)
        except Cancelled as error:
            logger.warning("%s %s: %s", ticket.kind, ticket.mlmodel, error)
            return
        except (LeaseLost, HubError) as error:
            logger.warning("%s %s: %s", ticket.kind, ticket.mlmodel, error)
        else:
            logger.info("%s %s: now %s", ticket.kind, ticket.mlmodel, answer.get("state"))
        self._journal.clear()

    def _send_rest(self, outbox: Outbox, claim: OpenClaim) -> None:
        """Send the unsent writes before the end. Refused writes do not prevent the end: a job that
        succeeded has none. Raises as ``Outbox.flush``."""
        for _ in range(len(self._journal.unsent()) + 1):
            try:
                outbox.flush()
                break
            except HubError as error:
                logger.warning("a result was refused: %s", error)
        failure = (claim.report or {}).get("failure", {})
        if claim.candidate and failure.get("code") == _TAKEN_DOWN:
            # The hub may have been away when it began.
            outbox.tell_candidate(claim.candidate)


def _held_job(ticket: JobTicket) -> HeldJob:
    return HeldJob(ticket.job_uuid, ticket.fence, ticket.lease_s)


def _end_of_abandoned(claim: OpenClaim) -> End:
    """The end of a claim whose work is not begun again."""
    if claim.candidate and not claim.is_of_this_boot:
        detail = f"The device went down while it tried candidate {claim.candidate}."
    elif claim.starts >= _MOST_STARTS:
        detail = f"The agent ended {claim.starts} times while it worked on this job."
    else:
        return End("released")
    return End("failed", failure=JobFailure("infrastructure", _TAKEN_DOWN, detail))
