"""Reads of stored bytes."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import BinaryIO

from django.db.models import Exists, OuterRef, QuerySet

from registry.errors import NotFound
from registry.ids import SHA256_RE
from registry.selectors.access import Actor, person
from registry.selectors.repository.gate import fetchable_repositories
from registry.storage import blob_store
from registry.tables import (
    Blob,
    BuildFile,
    ConversionFile,
    File,
    ImportedProfile,
    JobBundle,
    KernelCode,
    RemoteRun,
    ScheduleTask,
    TestTensor,
    Topology,
    Upload,
    Xorb,
)

#: Databases bound the number of values in one query.
AT_ONCE = 500


def blob_missing(actor: Actor, sha256s: Iterable[str]) -> list[str]:
    """Those digests whose bytes ``actor`` must upload before naming them in a commit.

    Bytes count as present only for an actor who uploaded them or may read them elsewhere: otherwise
    knowing a digest would reveal whether somebody else stores the bytes in private.
    """
    distinct = list(dict.fromkeys(sha256s))
    usable = blobs_usable(actor, distinct)
    return [sha256 for sha256 in distinct if sha256 not in usable]


def blobs_usable(actor: Actor, sha256s: Collection[str]) -> dict[str, Blob]:
    """Digest to blob for those of ``sha256s`` that ``actor`` may name in a commit."""
    usable: dict[str, Blob] = {}
    valid = [sha256 for sha256 in sha256s if SHA256_RE.fullmatch(sha256)]
    for start in range(0, len(valid), AT_ONCE):
        some = valid[start : start + AT_ONCE]
        # A blob condemned by garbage collection counts as absent, though it may still exist.
        blobs = Blob.objects.filter(condemned_at=None).in_bulk(some)
        if actor is not None:
            proven = _proven(actor, some)
            blobs = {sha256: blob for sha256, blob in blobs.items() if sha256 in proven}
        usable |= blobs
    return usable


def blob_get(actor: Actor, sha256: str) -> Blob:
    """The blob of that digest, for an actor who may name it in a commit.

    Raises ``NotFound``: ``blob_not_found``, also if the actor may not use it.
    """
    blob = blobs_usable(actor, [sha256]).get(sha256)
    if blob is None:
        raise NotFound("blob_not_found", f"No bytes are stored as {sha256[:100]!r}.")
    return blob


def blobs_unreferenced() -> QuerySet[Blob]:
    """The blobs that no row references, apart from rows that are deleted along with a blob."""
    this = OuterRef("pk")
    return Blob.objects.exclude(
        Exists(File.objects.filter(blob=this))
        | Exists(BuildFile.objects.filter(blob=this))
        | Exists(ConversionFile.objects.filter(blob=this))
        | Exists(Xorb.objects.filter(payload=this))
        | Exists(KernelCode.objects.filter(blob=this))
        | Exists(ScheduleTask.objects.filter(source=this))
        | Exists(Topology.objects.filter(blob=this))
        | Exists(TestTensor.objects.filter(blob=this))
        | Exists(RemoteRun.objects.filter(inputs=this))
        | Exists(RemoteRun.objects.filter(outputs=this))
        | Exists(JobBundle.objects.filter(answers=this))
        | Exists(ImportedProfile.objects.filter(blob=this))
        | Exists(ImportedProfile.objects.filter(details=this))
    )


def blob_open(blob: Blob) -> BinaryIO:
    """The bytes, seekable; the caller closes. Raises ``NotFound`` ``blob_not_found``."""
    return blob_store().open(blob.sha256)


def blob_path(blob: Blob) -> Path | None:
    """The local file with the bytes; ``None`` if the store has no local files."""
    return blob_store().path(blob.sha256)


def blob_url(blob: Blob, *, expires_s: int, content_type: str, disposition: str) -> str | None:
    """A pre-signed address of the store for the bytes; ``None`` if the store has none.

    Its response carries these values as Content-Type and Content-Disposition.
    """
    return blob_store().url(
        blob.sha256, expires_s=expires_s, content_type=content_type, disposition=disposition
    )


def blob_path_of(sha256: str) -> Path:
    """A local, read-only file with the bytes, for a worker that copies it at once.

    Raises ``NotFound``: ``blob_not_found``.
    """
    if not SHA256_RE.fullmatch(sha256):
        raise NotFound("blob_not_found", f"No bytes are stored as {sha256[:100]!r}.")
    return blob_store().local(sha256)


def _proven(actor: Actor, sha256s: list[str]) -> set[str]:
    """Digests that the actor uploaded, or can fetch from some revision or build."""
    user = person(actor)
    proven: set[str] = set()
    if user is not None:
        proven.update(
            Upload.objects.filter(user=user, blob__in=sha256s).values_list("blob_id", flat=True)
        )
    if proven.issuperset(sha256s):
        return proven
    fetchable = fetchable_repositories(actor)
    this = OuterRef("pk")
    # The first of the files suffices: thousands of repositories may have the blob.
    files = File.objects.filter(blob=this, series__mlmodel__in=fetchable)
    builds = BuildFile.objects.filter(blob=this, build__graph__revision__mlmodel__in=fetchable)
    for source in (files, builds):
        left = [sha256 for sha256 in sha256s if sha256 not in proven]
        rows = Blob.objects.filter(Exists(source), pk__in=left)
        proven.update(rows.values_list("pk", flat=True))
    return proven
