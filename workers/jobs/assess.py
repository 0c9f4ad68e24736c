"""Looks at one record from outside, and keeps how FAIR it was found."""

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings

from registry.fair.score.harvest import Harvest
from registry.fair.score.score import assess
from registry.selectors.fair.assessment import assessable_of
from registry.selectors.fair.hub import repository_address
from registry.selectors.storage.blob import blob_get, blob_url
from registry.services.fair.assessment import assess_after, assess_again, assessment_store
from registry.tickets import JobTicket
from workers.assessment.harvest import harvest
from workers.assessment.visitor import Visitor, origin_of
from workers.fleet.probe import ThisMachine
from workers.jobs.errors import JobFailed
from workers.jobs.lease import Lease

#: Beside the hub's own host: who resolves DOIs.
_RESOLVERS = ("https://doi.org",)
# Nobody else is served meanwhile by a worker of the hub.
_LONGEST_S = 180.0
# Only its host counts, so nobody need be able to use the address for long.
_ADDRESS_LIFETIME_S = 60


def work(ticket: JobTicket, lease: Lease, here: ThisMachine | None) -> dict[str, Any]:  # noqa: ARG001
    """Assess the version; returns a summary for people.

    Raises:
        JobFailed: its page does not come, or all of it takes too long.
        LeaseLost, Cancelled: as the lease says.
    """
    revision = assessable_of(ticket.job_uuid)
    if revision is None:
        return _passed_over()
    place = repository_address(revision.mlmodel)
    landing = place.version(revision.oid)
    lease.progress("look", 0, None, landing)
    with Visitor(
        settings.HUB_URL,
        inside=settings.INSIDE_URL,
        elsewhere=(*_RESOLVERS, *_stores(ticket)),
        check=_check(lease),
    ) as visitor:
        found = harvest(visitor, landing, place.kind, most_bytes=settings.ASSESS_BYTES)
    if not found.landing.is_found:
        # It may have been hidden, or deleted, since.
        if assessable_of(ticket.job_uuid) is None:
            return _passed_over()
        raise _no_page(found)
    score = assess(found)
    lease.check()
    assessment_store(job_uuid=ticket.job_uuid, fence=ticket.fence, document=score.as_dict())
    total = score.total
    return {
        "summary": f"FAIR: {total.points:g} of {total.of:g} points",
        "points": total.points,
        "of": total.of,
    }


def after(ticket: JobTicket) -> None:
    """Look again if the record changed in the meantime."""
    assess_again(job_uuid=ticket.job_uuid)


def after_change(ticket: JobTicket) -> None:
    """For other kinds of jobs: what they found stands in the record now."""
    assess_after(job_uuid=ticket.job_uuid)


def _passed_over() -> dict[str, Any]:
    return {"summary": "not public any more, or replaced by a newer version"}


def _check(lease: Lease) -> Callable[[], None]:
    enough = time.monotonic() + _LONGEST_S

    def check() -> None:
        lease.check()
        if time.monotonic() > enough:
            raise JobFailed(
                "timeout",
                "job_timeout",
                f"To look at the record took longer than {_LONGEST_S:.0f} s.",
            )

    return check


def _stores(ticket: JobTicket) -> list[str]:
    """Where the hub sends those who fetch files, if it does not send these itself."""
    if not settings.S3_REDIRECT or not ticket.files:
        return []
    url = blob_url(
        blob_get(None, ticket.files[0].sha256),
        expires_s=_ADDRESS_LIFETIME_S,
        content_type="application/octet-stream",
        disposition="attachment",
    )
    return [origin_of(url)] if url else []


def _no_page(found: Harvest) -> JobFailed:
    """A hub that does not answer tells nothing of a record: it is tried again."""
    status = found.landing.status
    said = f"The answer was {status}." if status else "Nothing answers there."
    return JobFailed(
        "infrastructure",
        "internal_error",
        f"The record was asked for at {found.landing.url}. {said} HPCFAIR_URL must be where "
        "people reach the hub, and HPCFAIR_INSIDE_URL where workers do, if that differs.",
    )
