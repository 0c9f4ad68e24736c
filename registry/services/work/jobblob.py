"""Blobs that devices send for their jobs: whole, or in parts, so that an upload can be resumed."""

from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from registry.errors import Invalid, NotFound
from registry.selectors.work.jobblob import blobs_of_job
from registry.services.storage.blob import blob_store
from registry.services.storage.parts import part_store, parts_abort, parts_begin, parts_join
from registry.storage import PartUpload, Readable
from registry.tables import Blob, Job, JobBlob, JobUpload

#: Upper bound on the blobs that are sent for one job.
MOST_BLOBS = 20_000
#: Age at which an incomplete upload is deleted; garbage collection may have deleted its parts.
_RETENTION = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class UploadState:
    """Progress of the upload of a blob.

    Attributes:
        blob: The blob, if the upload is complete.
        part_bytes: Required length of all parts but the last; 0 if ``blob`` is complete.
        ranges: First and last byte of each range that has arrived, in order.
    """

    blob: Blob | None = None
    part_bytes: int = 0
    ranges: tuple[tuple[int, int], ...] = ()


def job_blob_store(*, job: Job, sha256: str, stream: Readable, size_bytes: int) -> Blob:
    """Store the bytes of ``stream`` for a job; sending the same bytes again has no effect.

    Raises ``Invalid`` ``digest_mismatch``, ``size_mismatch``, or ``invalid_request`` for too many
    blobs; ``TooLarge`` ``body_too_large``; ``Unavailable`` ``storage_full``.
    """
    _check_count(job)
    blob = blob_store(actor=None, stream=stream, sha256=sha256, size_bytes=size_bytes)
    JobBlob.objects.get_or_create(job=job, blob=blob)
    return blob


def job_part_store(
    *, job: Job, sha256: str, total: int, first: int, last: int, stream: Readable
) -> UploadState:
    """Store the bytes from ``first`` to ``last`` of a blob of ``total`` bytes.

    Parts come in any order, and may be repeated; the last one completes the blob.

    Raises ``Invalid`` ``invalid_request`` for a range that is no part, ``size_mismatch``,
    ``digest_mismatch``, after which the upload begins anew; ``TooLarge`` ``body_too_large``;
    ``Unavailable`` ``storage_full``.
    """
    upload, row = _upload(job, sha256, total)
    number, offset = divmod(first, upload.part_bytes)
    number += 1
    if offset or not 1 <= number <= upload.count or last - first + 1 != upload.length_of(number):
        raise Invalid(
            "invalid_request",
            f"Bytes {first} to {last} of {total} are no part.",
            f"Send parts of {upload.part_bytes} bytes each, but for the last one.",
        )
    try:
        etag = part_store(upload=upload, number=number, stream=stream)
    except NotFound:
        row.delete()
        raise
    with transaction.atomic():
        row = JobUpload.objects.select_for_update().get(pk=row.pk)
        row.etags[str(number)] = etag
        row.save(update_fields=["etags"])
    if len(row.etags) < upload.count:
        return _state_of(row)
    return UploadState(_join(job, row, upload))


def job_upload_begin(*, job: Job, sha256: str, total: int) -> UploadState:
    """Begin the upload of a blob of ``total`` bytes in parts; returns its progress if it was begun
    before.

    Raises ``Invalid`` ``size_mismatch``, ``invalid_request`` for too many blobs; ``TooLarge``
    ``body_too_large``.
    """
    if (stored := blobs_of_job(job, [sha256]).get(sha256)) is not None:
        return UploadState(stored)
    return _state_of(_upload(job, sha256, total)[1])


def uploads_prune() -> int:
    """Delete old uploads that were never completed; returns their number."""
    old = JobUpload.objects.filter(created_at__lt=timezone.now() - _RETENTION)
    return old.delete()[0]


def _join(job: Job, row: JobUpload, upload: PartUpload) -> Blob:
    etags = {int(number): etag for number, etag in row.etags.items()}
    try:
        blob = parts_join(actor=None, upload=upload, etags=etags, sha256=row.sha256)
    except Invalid:
        parts_abort(upload=upload)
        row.delete()
        raise
    JobBlob.objects.get_or_create(job=job, blob=blob)
    row.delete()
    return blob


def _upload(job: Job, sha256: str, total: int) -> tuple[PartUpload, JobUpload]:
    row = JobUpload.objects.filter(job=job, sha256=sha256).first()
    if row is None:
        _check_count(job)
        begun = parts_begin(actor=None, size_bytes=total)
        try:
            with transaction.atomic():
                row = JobUpload.objects.create(
                    job=job,
                    sha256=sha256,
                    key=begun.key,
                    size_bytes=begun.size_bytes,
                    part_bytes=begun.part_bytes,
                )
        except IntegrityError:
            # Another request began it meanwhile.
            parts_abort(upload=begun)
            row = JobUpload.objects.get(job=job, sha256=sha256)
    _check_size(row, total)
    return PartUpload(row.key, row.size_bytes, row.part_bytes), row


def _check_size(row: JobUpload, total: int) -> None:
    if row.size_bytes != total:
        raise Invalid(
            "size_mismatch",
            f"The upload of {row.sha256[:10]} was begun with {row.size_bytes} bytes, not {total}.",
            "Bytes of one digest have one length.",
        )


def _check_count(job: Job) -> None:
    begun = JobUpload.objects.filter(job=job).count()
    if JobBlob.objects.filter(job=job)[:MOST_BLOBS].count() + begun >= MOST_BLOBS:
        raise Invalid(
            "invalid_request", f"More than {MOST_BLOBS:,} files were sent for job {job.uuid}."
        )


def _state_of(row: JobUpload) -> UploadState:
    ranges: list[tuple[int, int]] = []
    for number in sorted(map(int, row.etags)):
        first = (number - 1) * row.part_bytes
        last = min(first + row.part_bytes, row.size_bytes) - 1
        if ranges and ranges[-1][1] + 1 == first:
            ranges[-1] = ranges[-1][0], last
        else:
            ranges.append((first, last))
    return UploadState(None, row.part_bytes, tuple(ranges))
