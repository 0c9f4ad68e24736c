"""Numbered writes of attempts. They take effect once, even if they are sent several times."""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from registry.errors import Conflict
from registry.ids import parse_uuid
from registry.services.work.lease import lease_lost
from registry.tables import Job, JobAttempt, JobWrite

#: Time for which writes of ended attempts are stored. Later repetitions have no effect either,
#: because the attempt has ended.
_RETENTION = timedelta(days=7)
_DELETED_AT_ONCE = 500


def write_once(
    *, job_uuid: str, fence: int, number: int, content: Any, perform: Callable[[], Any]
) -> Any:
    """Perform a write and return its reply. A repeated write gets the stored reply.

    Args:
        number: Number of the write within the attempt.
        content: Content of the write, as JSON; different content under a used number is refused.
        perform: Writes and returns the reply as JSON. Called in the transaction that stores it.

    Raises:
        Conflict: ``lease_lost`` for an unknown attempt; ``write_differs``; what ``perform``
            raises. Nothing is written.
    """
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    with transaction.atomic():
        attempt = _locked(job_uuid, fence)
        stored = JobWrite.objects.filter(attempt=attempt, number=number).first()
        if stored is None:
            reply = perform()
            JobWrite.objects.create(attempt=attempt, number=number, sha256=digest, reply=reply)
            return reply
        if stored.sha256 != digest:
            raise Conflict(
                "write_differs",
                f"Write {number} of claim {fence} had different content.",
                "Give each write of a claim a number of its own.",
            )
        return stored.reply


def locked_attempt(job_uuid: str, fence: int) -> JobAttempt:
    """The attempt with that fence, ended or not; its job is locked until the transaction ends.

    Raises ``Conflict`` ``lease_lost`` if there is none.
    """
    # Two repetitions of one write wait for each other here.
    list(Job.objects.select_for_update().filter(uuid=parse_uuid(job_uuid)).values_list("pk"))
    rows = JobAttempt.objects.filter(job__uuid=parse_uuid(job_uuid), fence=fence)
    attempt = rows.select_related("job__target", "job__device").first()
    if attempt is None:
        raise lease_lost(job_uuid, fence)
    return attempt


def _locked(job_uuid: str, fence: int) -> JobAttempt:
    """:func:`locked_attempt` by one statement: only the key of the attempt is up to date."""
    rows = JobAttempt.objects.filter(job__uuid=parse_uuid(job_uuid), fence=fence)
    attempt = rows.select_for_update(of=("job",)).select_related("job").only("job__uuid").first()
    if attempt is None:
        raise lease_lost(job_uuid, fence)
    return attempt


def writes_prune() -> int:
    """Delete old writes of ended attempts, a batch at a time; returns their number."""
    old = JobWrite.objects.filter(
        at__lt=timezone.now() - _RETENTION, attempt__ended_at__isnull=False
    ).order_by("at")
    keys = list(old.values_list("pk", flat=True)[:_DELETED_AT_ONCE])
    JobWrite.objects.filter(pk__in=keys).delete()
    return len(keys)
