"""DOI jobs: register DOIs, and send changed metadata to DataCite."""

import logging
import time
from typing import Any

from registry.fair.datacite.registration import drafted
from registry.services.fair.doi import doi_begin, doi_claim, doi_keep, doi_put_off, doi_told
from workers.device.errors import JobFailure
from workers.device.ports import Hub
from workers.jobs.datacite import DataCite, DataCiteRefusal, NotAnswered

logger = logging.getLogger(__name__)

# Time limit of one run of ``update``; beat starts the next one.
_MAX_UPDATE_S = 120.0


def work(hub: Hub) -> dict[str, Any]:
    """Register the version's DOI as a draft, then make it findable; returns a summary.

    Raises:
        JobFailure: DataCite rejected a request, or does not answer.
        LeaseLost, Cancelled: see :class:`~workers.device.ports.Hub`; before the DOI is findable.
    """
    ticket = hub.ticket
    request = doi_begin(job_uuid=ticket.job_uuid, fence=ticket.fence)
    hub.progress("draft", 0, 2, request.doi)
    try:
        with DataCite() as datacite:
            # Only a draft can be deleted, in case the next request is rejected.
            datacite.put(request.doi, drafted(request.body))
            hub.progress("publish", 1, 2, request.doi)
            datacite.put(request.doi, request.body)
    except DataCiteRefusal as error:
        raise JobFailure("invalid", "doi_refused", str(error)) from error
    except NotAnswered as error:
        raise JobFailure("infrastructure", "doi_unavailable", str(error)) from error
    doi_keep(job_uuid=ticket.job_uuid, ticket=request)
    return {"summary": f"https://doi.org/{request.doi}", "doi": request.doi}


def update() -> int:
    """Send changed metadata of registered DOIs to DataCite; returns the number of DOIs."""
    deadline = time.monotonic() + _MAX_UPDATE_S
    count = 0
    while time.monotonic() < deadline and (ticket := doi_claim()):
        try:
            with DataCite() as datacite:
                datacite.put(ticket.doi, ticket.body)
        except NotAnswered as error:
            # The others would fail as well. They are tried again when the claim expires.
            logger.warning("%s: %s", ticket.doi, error)
            break
        except DataCiteRefusal as error:
            logger.error("%s: %s", ticket.doi, error)  # noqa: TRY400 - a traceback adds nothing
            doi_put_off(ticket=ticket)
        else:
            doi_told(ticket=ticket)
            count += 1
    return count
