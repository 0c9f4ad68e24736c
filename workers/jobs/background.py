"""Background work gives way to searches that people wait for."""

from registry.errors import Conflict
from registry.selectors.work.job import is_search_due
from registry.services.work.attempt import job_yield
from registry.tickets import JobTicket
from workers.engine.errors import LeaseLost


def give_way(ticket: JobTicket) -> None:
    """Give the job back if a search waits that comes first.

    What is known by now has been kept; the job is queued again and goes on afterwards.

    Raises:
        LeaseLost: one waits, or the job is somebody else's anyhow.
    """
    if not is_search_due(ticket.job_uuid):
        return
    try:
        job_yield(job_uuid=ticket.job_uuid, fence=ticket.fence)
    except Conflict as error:
        raise LeaseLost(str(error)) from error
    raise LeaseLost("background work gives way to a search")
