"""Assessment runs: fetch one record from outside, score it, store the result."""

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings

from hpcfair.tickets import JobTicket
from registry.fair.score.harvest import Harvest
from registry.fair.score.score import assess
from registry.selectors.fair.assessment import assessable_of
from registry.selectors.fair.hub import repository_address
from registry.selectors.storage.blob import blob_get, blob_url
from registry.services.fair.assessment import assessment_store
from workers.assessment.harvest import harvest
from workers.assessment.visitor import Visitor, origin_of
from workers.device.errors import JobFailure
from workers.device.ports import Hub

#: Hosts besides the hub's own that a run may contact: DOI resolvers.
_RESOLVERS = ("https://doi.org",)
# Upper bound on a run, during which the worker serves no other job.
_MAX_RUN_S = 180.0
# Only the host of the address is used.
_ADDRESS_LIFETIME_S = 60


def work(hub: Hub) -> dict[str, Any]:
    """Assess the version of the job; returns a summary.

    Raises:
        JobFailure: the landing page cannot be fetched, or the run exceeds its time limit.
        LeaseLost, Cancelled: see :class:`~workers.device.ports.Hub`.
    """
    ticket = hub.ticket
    revision = assessable_of(ticket.job_uuid)
    if revision is None:
        return _skipped()
    address = repository_address(revision.mlmodel)
    landing = address.version(revision.oid)
    hub.progress("assess", 0, None, landing)
    with Visitor(
        settings.HUB_URL,
        inside=settings.INSIDE_URL,
        elsewhere=(*_RESOLVERS, *_stores(ticket)),
        check=_check(hub),
    ) as visitor:
        harvested = harvest(visitor, landing, address.kind, most_bytes=settings.ASSESS_BYTES)
    if not harvested.landing.is_ok:
        # The repository may have been hidden or deleted during the run.
        if assessable_of(ticket.job_uuid) is None:
            return _skipped()
        raise _no_page(harvested)
    score = assess(harvested)
    hub.check()
    assessment_store(job_uuid=ticket.job_uuid, fence=ticket.fence, document=score.as_dict())
    total = score.total
    return {
        "summary": f"FAIR: {total.points:g} of {total.of:g} points",
        "points": total.points,
        "of": total.of,
    }


def _skipped() -> dict[str, Any]:
    return {"summary": "skipped: private, or replaced by a newer version"}


def _check(hub: Hub) -> Callable[[], None]:
    deadline = time.monotonic() + _MAX_RUN_S

    def check() -> None:
        hub.check()
        if time.monotonic() > deadline:
            raise JobFailure(
                "timeout", "job_timeout", f"The assessment took longer than {_MAX_RUN_S:.0f} s."
            )

    return check


def _stores(ticket: JobTicket) -> list[str]:
    """Origins to which the hub redirects downloads; none if it serves files itself."""
    if not settings.S3_REDIRECT or not ticket.files:
        return []
    url = blob_url(
        blob_get(None, ticket.files[0].sha256),
        expires_s=_ADDRESS_LIFETIME_S,
        content_type="application/octet-stream",
        disposition="attachment",
    )
    return [origin_of(url)] if url else []


def _no_page(harvested: Harvest) -> JobFailure:
    """A retryable failure: an unreachable hub says nothing about the record."""
    status = harvested.landing.status
    answer = f"The answer was {status}." if status else "There was no answer."
    return JobFailure(
        "infrastructure",
        "internal_error",
        f"The record was requested at {harvested.landing.url}. {answer} HPCFAIR_URL must be the "
        "public address of the hub, and HPCFAIR_INSIDE_URL that for workers, if it differs.",
    )
