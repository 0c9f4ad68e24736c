"""Claims jobs, runs them and reports how they ended."""

import logging
from collections.abc import Callable
from typing import Any, Final

from hpcfair.tickets import JobTicket
from registry.errors import Conflict
from registry.services.work.attempt import job_claim, job_fail, job_release
from registry.services.work.followup import job_complete
from registry.states import FailureClass, JobKind
from workers.device.end import end_of
from workers.device.kinds import WORK
from workers.fleet.probe import ThisMachine
from workers.jobs import assess, datatable, doi, inspect, modelimport
from workers.jobs.device import device_settings
from workers.jobs.hub import RegistryHub, refusals
from workers.jobs.lease import Lease
from workers.jobs.slots import import_slot, inspection_slot

logger = logging.getLogger(__name__)

#: Kind of a job of the hub itself to its work; those of targets are in :data:`WORK`.
HUB_WORK: Final[dict[str, Callable[[RegistryHub], dict[str, Any]]]] = {
    "inspect": inspect.work,
    "tables": datatable.work,
    "import": modelimport.work,
    "doi": doi.work,
    "assess": assess.work,
}


def drain(kinds: list[JobKind], *, here: ThisMachine | None) -> int:
    """Run all queued jobs of these kinds, ``here`` for a target; returns the number of claims."""
    count = 0
    while one(kinds, here=here):
        count += 1
    return count


def drain_inspections() -> int:
    """Run queued inspections while a slot of this machine is free; returns the number of claims."""
    count = 0
    while True:
        with inspection_slot() as slot:
            if slot is None or not one([JobKind.INSPECT], here=None, is_quick=slot.is_last):
                return count
        count += 1


def drain_imports() -> int:
    """Run queued imports while a slot of this machine is free; returns the number of claims."""
    count = 0
    while True:
        with import_slot() as is_free:
            if not (is_free and one([JobKind.IMPORT], here=None)):
                return count
        count += 1


def one(kinds: list[JobKind], *, here: ThisMachine | None, is_quick: bool = False) -> bool:
    """Run the next queued job of these kinds; returns whether there was one.

    Args:
        is_quick: Whether to leave jobs that have yielded before to other workers.
    """
    ticket = job_claim(
        device_name=here.device if here else None,
        kinds=kinds,
        target=here.spec.slug if here else None,
        is_quick=is_quick,
    )
    if ticket is not None:
        perform(ticket, here)
    return ticket is not None


def perform(ticket: JobTicket, here: ThisMachine | None) -> None:
    """Run one claimed job and report how it ended; failures of the job are not raised."""
    logger.info("%s %s: attempt %d", ticket.kind, ticket.mlmodel, ticket.attempt)
    end = end_of(ticket, lambda: _complete(ticket, here))
    try:
        if end.failure is not None:
            job_fail(
                job_uuid=ticket.job_uuid,
                fence=ticket.fence,
                failure_class=FailureClass(end.failure.failure_class),
                code=end.failure.code,
                detail=end.failure.detail,
            )
        elif end.outcome == "released":
            # Ended at once rather than when the lease expires.
            job_release(job_uuid=ticket.job_uuid, fence=ticket.fence)
    except Conflict as error:
        logger.warning("%s %s: %s", ticket.kind, ticket.mlmodel, error)


def _complete(ticket: JobTicket, here: ThisMachine | None) -> dict[str, Any]:
    with refusals():
        with Lease(ticket) as lease:
            result = _work(RegistryHub(ticket, lease), here)
        job_complete(job_uuid=ticket.job_uuid, fence=ticket.fence, result=result)
    logger.info("%s %s: %s", ticket.kind, ticket.mlmodel, result["summary"])
    return result


def _work(hub: RegistryHub, here: ThisMachine | None) -> dict[str, Any]:
    kind = hub.ticket.kind
    if kind in HUB_WORK:
        return HUB_WORK[kind](hub)
    assert here is not None  # noqa: S101 - jobs of a target are claimed for a machine only
    return WORK[kind](hub, device_settings(), here)
