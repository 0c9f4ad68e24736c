"""Registers DOIs that were asked for, and tells DataCite what became of them."""

import logging
import time
from typing import Any

from registry.fair.datacite.registration import drafted
from registry.services.fair.doi import doi_begin, doi_claim, doi_keep, doi_put_off, doi_told
from registry.tickets import JobTicket
from workers.fleet.probe import ThisMachine
from workers.jobs.datacite import DataCite, NotAnswered, Refused
from workers.jobs.errors import JobFailed
from workers.jobs.lease import Lease

logger = logging.getLogger(__name__)

# Then the worker is let go; the schedule comes back for what is left.
_ENOUGH_S = 120.0


def work(ticket: JobTicket, lease: Lease, here: ThisMachine | None) -> dict[str, Any]:  # noqa: ARG001
    """Make the version's DOI a draft, then findable; returns a summary for people.

    Raises:
        JobFailed: DataCite refused, or does not answer.
        LeaseLost, Cancelled: as the lease says; before the DOI can be found by anybody.
    """
    wanted = doi_begin(job_uuid=ticket.job_uuid, fence=ticket.fence)
    lease.progress("draft", 0, 2, wanted.doi)
    try:
        with DataCite() as datacite:
            # A draft can be deleted if what follows is refused; nothing else ever can.
            datacite.put(wanted.doi, drafted(wanted.body))
            lease.progress("publish", 1, 2, wanted.doi)
            datacite.put(wanted.doi, wanted.body)
    except Refused as error:
        raise JobFailed("invalid", "doi_refused", str(error)) from error
    except NotAnswered as error:
        raise JobFailed("infrastructure", "doi_unavailable", str(error)) from error
    doi_keep(job_uuid=ticket.job_uuid, ticket=wanted)
    return {"summary": f"https://doi.org/{wanted.doi}", "doi": wanted.doi}


def tell() -> int:
    """Tell DataCite what changed about DOIs it has; returns how many that were."""
    enough = time.monotonic() + _ENOUGH_S
    count = 0
    while time.monotonic() < enough and (ticket := doi_claim()):
        try:
            with DataCite() as datacite:
                datacite.put(ticket.doi, ticket.body)
        except NotAnswered as error:
            # All others would hear the same. The claim runs out, and then it is tried again.
            logger.warning("%s: %s", ticket.doi, error)
            break
        except Refused as error:
            logger.error("%s: %s", ticket.doi, error)  # noqa: TRY400 - the text is all there is
            doi_put_off(ticket=ticket)
        else:
            doi_told(ticket=ticket)
            count += 1
    return count
