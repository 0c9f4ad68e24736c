"""Conversions, stored by inspections, and further attempts of those that were refused."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from registry.selectors.results.conversion import refused_heads, unconverted_heads
from registry.services.storage.blob import blobs_hold
from registry.services.work.job import job_submit
from registry.services.work.lease import held_job
from registry.services.work.plan import BACKGROUND_PRIORITY
from registry.states import JobKind, JobState
from registry.tables import Conversion, ConversionFile, Converter, Job, Revision
from registry.validation.texts import check_json

#: Further attempts that wait at most at any time: a hub may have thousands of refused models.
MOST_WAITING = 20


def conversion_store(
    *, job_uuid: str, fence: int, files: Mapping[str, str], provenance: Mapping[str, Any]
) -> Conversion:
    """Store the conversion of the job's revision, replacing an earlier one.

    Args:
        files: Path to digest of stored bytes.
        provenance: See :class:`registry.tables.results.conversion.Conversion`.

    Raises ``Conflict`` ``lease_lost``; ``Invalid`` ``blob_missing``, ``invalid_request``.
    """
    values = check_json(dict(provenance))
    with transaction.atomic():
        revision = held_job(job_uuid=job_uuid, fence=fence).revision
        blobs_hold(set(files.values()))
        Conversion.objects.filter(revision=revision).delete()
        conversion = Conversion.objects.create(revision=revision, provenance=values)
        ConversionFile.objects.bulk_create(
            ConversionFile(conversion=conversion, path=path, blob_id=sha256)
            for path, sha256 in sorted(files.items())
        )
    return conversion


def conversions_retry(identity: str) -> list[Job]:
    """Queue inspections of models that were refused before this converter came, newest first, a few
    at a time. Each converter tries a model once; what a worker without one refused was not tried.

    Args:
        identity: Version of the converter and of its tools, at most 300 characters.
    """
    converter, _ = Converter.objects.get_or_create(identity=identity)
    waiting = Job.objects.filter(
        kind=JobKind.INSPECT, state=JobState.QUEUED, priority=BACKGROUND_PRIORITY
    )
    left = MOST_WAITING - waiting[:MOST_WAITING].count()
    return [_queue(revision) for revision in refused_heads(converter.seen_at)[: max(left, 0)]]


def conversions_queue() -> list[Job]:
    """Queue inspections of all models that can be converted and were published before the hub
    converted."""
    return [_queue(revision) for revision in unconverted_heads()]


def _queue(revision: Revision) -> Job:
    return job_submit(
        actor=None, kind=JobKind.INSPECT, revision=revision, priority=BACKGROUND_PRIORITY
    )
