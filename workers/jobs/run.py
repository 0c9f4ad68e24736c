"""Claims jobs, runs them and reports how they ended."""

import logging
from collections.abc import Callable
from typing import Any, Protocol

from registry.errors import Conflict, RegistryError
from registry.services.work.attempt import job_claim, job_fail, job_release, job_succeed
from registry.states import FailureClass, JobKind
from registry.tickets import JobTicket
from workers.engine.errors import (
    Cancelled,
    CandidateFailed,
    InfrastructureFailed,
    LeaseLost,
    ReferenceFailed,
)
from workers.fleet.probe import ThisMachine
from workers.jobs import assess, datatable, doi, inspect, passes, reproduce, schedule, tune
from workers.jobs.errors import JobFailure
from workers.jobs.lease import Lease
from workers.jobs.slots import inspection_slot

logger = logging.getLogger(__name__)


class _Work(Protocol):
    def __call__(
        self, ticket: JobTicket, lease: Lease, here: ThisMachine | None
    ) -> dict[str, Any]: ...


WORK: dict[str, _Work] = {
    "inspect": inspect.work,
    "tables": datatable.work,
    "tune": tune.work,
    "schedule": schedule.work,
    "passes": passes.work,
    "reproduce": reproduce.work,
    "doi": doi.work,
    "assess": assess.work,
}

# Called after a success, when the lease has ended.
_AFTER: dict[str, tuple[Callable[[JobTicket], None], ...]] = {
    "inspect": (inspect.after, assess.after_change),
    "tables": (assess.after_change,),
    "tune": (
        tune.plan_repetition,
        reproduce.plan_after_search,
        schedule.plan_after_search,
        passes.plan_after_search,
        assess.after_change,
    ),
    "reproduce": (assess.after_change,),
    "doi": (assess.after_change,),
    "assess": (assess.after,),
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
    try:
        with Lease(ticket) as lease:
            result = WORK[ticket.kind](ticket, lease, here)
        job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result=result)
        logger.info("%s %s: %s", ticket.kind, ticket.mlmodel, result["summary"])
        for follow in _AFTER.get(ticket.kind, ()):
            follow(ticket)
    except LeaseLost as error:
        logger.warning("%s", error)
    except Cancelled as error:
        logger.warning("%s", error)
        _release(ticket)
    except (JobFailure, ReferenceFailed, CandidateFailed) as error:
        _fail(ticket, JobFailure.of(error))
    except InfrastructureFailed as error:
        _fail(ticket, JobFailure("infrastructure", "internal_error", str(error)))
    except RegistryError as error:
        if isinstance(error, Conflict):
            logger.warning("%s %s: %s", ticket.kind, ticket.mlmodel, error)
        else:
            _fail(ticket, JobFailure("invalid", error.code, str(error)))
    except Exception as error:
        # An unexpected error counts as a failure of the infrastructure: a retry may succeed.
        logger.exception("%s %s broke", ticket.kind, ticket.mlmodel)
        detail = f"{type(error).__name__}: {error}"
        _fail(ticket, JobFailure("infrastructure", "internal_error", detail))


def _fail(ticket: JobTicket, failure: JobFailure) -> None:
    try:
        job_fail(
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            failure_class=FailureClass(failure.failure_class),
            code=failure.code,
            detail=failure.detail,
        )
    except Conflict as error:
        logger.warning("%s %s: %s", ticket.kind, ticket.mlmodel, error)


def _release(ticket: JobTicket) -> None:
    """End a cancelled job at once rather than when its lease expires."""
    try:
        job_release(job_uuid=ticket.job_uuid, fence=ticket.fence)
    except Conflict as error:
        logger.warning("%s %s: %s", ticket.kind, ticket.mlmodel, error)
