"""Background work gives way to searches that people wait for."""

from registry.errors import Conflict
from registry.selectors.job import search_waits
from registry.services.job import job_note
from registry.tickets import JobTicket
from workers.engine.errors import Cancelled, LeaseLost


def give_way(ticket: JobTicket) -> None:
    """Stop if a search waits that comes first.

    What is known by now has been kept; the job is queued again and goes on afterwards.

    Raises:
        Cancelled: one waits.
        LeaseLost: the job is somebody else's now.
    """
    if not search_waits(ticket.job_uuid):
        return
    try:
        job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message="Gives way to a search.")
    except Conflict as error:
        raise LeaseLost(str(error)) from error
    raise Cancelled("background work gives way to a search")
