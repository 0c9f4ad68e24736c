"""Reads of bytes."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import BinaryIO

from django.db.models import Exists, OuterRef, QuerySet

from registry.errors import NotFound
from registry.ids import SHA256_RE
from registry.selectors.access import Actor, fetchable_repositories, person
from registry.storage import blob_store
from registry.tables import (
    Blob,
    BuildFile,
    File,
    KernelCode,
    ScheduleTask,
    TestTensor,
    Upload,
    Xorb,
)

#: Databases bound the number of values in one query.
AT_ONCE = 500


def blob_missing(actor: Actor, sha256s: Iterable[str]) -> list[str]:
    """Those digests whose bytes ``actor`` must upload before naming them in a commit.

    Bytes count as there only for someone who uploaded them or may read them somewhere:
    otherwise knowing a digest would tell whether, and soon what, somebody else keeps in private.
    """
    asked = list(dict.fromkeys(sha256s))
    known = blobs_usable(actor, asked)
    return [sha256 for sha256 in asked if sha256 not in known]


def blobs_usable(actor: Actor, sha256s: Collection[str]) -> dict[str, Blob]:
    """Digest to blob for those of ``sha256s`` that ``actor`` may name in a commit."""
    found: dict[str, Blob] = {}
    wanted = [sha256 for sha256 in sha256s if SHA256_RE.fullmatch(sha256)]
    for start in range(0, len(wanted), AT_ONCE):
        some = wanted[start : start + AT_ONCE]
        # What garbage collection has condemned counts as absent, though it may still be there.
        blobs = Blob.objects.filter(condemned_at=None).in_bulk(some)
        if actor is not None:
            usable = _proven(actor, some)
            blobs = {sha256: blob for sha256, blob in blobs.items() if sha256 in usable}
        found |= blobs
    return found


def blob_get(actor: Actor, sha256: str) -> Blob:
    """The blob of that digest, for someone who may name it in a commit.

    Raises:
        NotFound: ``blob_not_found``, also where it exists out of the actor's reach.
    """
    blob = blobs_usable(actor, [sha256]).get(sha256)
    if blob is None:
        raise NotFound("blob_not_found", f"No bytes are stored as {sha256[:100]!r}.")
    return blob


def blobs_unreferenced() -> QuerySet[Blob]:
    """The blobs that nothing needs. What only tells of a blob, and goes with it, is no need."""
    this = OuterRef("pk")
    return Blob.objects.exclude(
        Exists(File.objects.filter(blob=this))
        | Exists(BuildFile.objects.filter(blob=this))
        | Exists(Xorb.objects.filter(payload=this))
        | Exists(KernelCode.objects.filter(blob=this))
        | Exists(ScheduleTask.objects.filter(source=this))
        | Exists(TestTensor.objects.filter(blob=this))
    )


def blob_open(blob: Blob) -> BinaryIO:
    """The bytes, seekable; the caller closes. Raises ``NotFound`` ``blob_not_found``."""
    return blob_store().open(blob.sha256)


def blob_path(blob: Blob) -> Path | None:
    """The file holding the bytes; ``None`` where they are no local file."""
    return blob_store().path(blob.sha256)


def blob_url(blob: Blob, *, expires_s: int, content_type: str, disposition: str) -> str | None:
    """An address of the store itself that gives the bytes to whoever has it; ``None`` if none.

    The answer there carries these values as Content-Type and Content-Disposition.
    """
    return blob_store().url(
        blob.sha256, expires_s=expires_s, content_type=content_type, disposition=disposition
    )


def blob_path_of(sha256: str) -> Path:
    """A local, read-only file holding the bytes, for a worker that copies from it at once.

    Raises:
        NotFound: ``blob_not_found``.
    """
    if not SHA256_RE.fullmatch(sha256):
        raise NotFound("blob_not_found", f"No bytes are stored as {sha256[:100]!r}.")
    return blob_store().local(sha256)


def _proven(actor: Actor, sha256s: list[str]) -> set[str]:
    """Digests the actor uploaded, or can fetch from some revision or build."""
    user = person(actor)
    proven: set[str] = set()
    if user is not None:
        proven.update(
            Upload.objects.filter(user=user, blob__in=sha256s).values_list("blob_id", flat=True)
        )
    fetchable = fetchable_repositories(actor)
    files = File.objects.filter(blob__in=sha256s, revision__mlmodel__in=fetchable)
    proven.update(files.values_list("blob_id", flat=True))
    builds = BuildFile.objects.filter(
        blob__in=sha256s, build__graph__revision__mlmodel__in=fetchable
    )
    proven.update(builds.values_list("blob_id", flat=True))
    return proven
