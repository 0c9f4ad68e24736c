"""Upload of bytes, and protection of stored bytes from garbage collection.

The bytes are stored durably first; then, with their row locked, they are stored again if a
collection deleted them meanwhile, and the row is written. A row that is not condemned therefore
always has its bytes, though garbage collection may run at any moment
(:mod:`registry.services.storage.gc`). A crash in between leaves bytes without a row, which are
invisible.
"""

import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from registry import storage
from registry.errors import Invalid
from registry.selectors.access import Actor, require_scope
from registry.selectors.storage.blob import AT_ONCE, blobs_usable
from registry.services.audit import audit_many
from registry.states import Scope
from registry.storage import Arrived
from registry.tables import Blob, Upload, User

#: A blob used within this time need not be marked as used again.
_RECENTLY = timedelta(hours=1)
#: Number and bytes of small files that are stored together; a store may hold them in memory.
_TOGETHER = 200
_TOGETHER_BYTES = 16 * 2**20


def blob_store(
    *,
    actor: Actor,
    stream: storage.Readable,
    sha256: str | None = None,
    size_bytes: int | None = None,
) -> Blob:
    """Store the bytes of ``stream`` and record that ``actor`` uploaded them.

    Args:
        actor: May name the bytes in commits from now on.
        stream: Read to its end, in pieces. If it raises, nothing is stored.
        sha256: The expected digest, if known.
        size_bytes: The expected length, if known.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require_scope`.
        Invalid: ``digest_mismatch`` or ``size_mismatch``.
        TooLarge: ``body_too_large``.
        Unavailable: ``storage_full``.
    """
    user = require_scope(actor, Scope.WRITE)
    arriving = storage.blob_store().receive(
        stream, sha256=sha256, size_bytes=size_bytes, limit_bytes=settings.MAX_BLOB_BYTES
    )
    with arriving as arrived:
        return blob_keep(actor, user, arrived)


@contextmanager
def blobs_store(*, actor: Actor) -> Iterator[Callable[[storage.Readable, int], str]]:
    """A function of stream and length in bytes that stores many small files; returns each SHA-256.

    Files are stored in batches, which spares the disk and the database; the last batch when the
    block ends without an error. The function raises the errors of :func:`blob_store`, this one
    those of :func:`registry.selectors.access.require_scope`.
    """
    user = require_scope(actor, Scope.WRITE)
    waiting: list[Arrived] = []
    with ExitStack() as arrivals:

        def keep_waiting() -> None:
            if waiting:
                blobs_keep(actor, user, waiting)
            waiting.clear()
            arrivals.close()

        def store(stream: storage.Readable, size_bytes: int) -> str:
            arriving = storage.blob_store().receive(
                stream, size_bytes=size_bytes, limit_bytes=settings.MAX_BLOB_BYTES
            )
            waiting.append(arrivals.enter_context(arriving))
            sha256 = waiting[-1].sha256
            waiting_bytes = sum(one.size_bytes for one in waiting)
            if len(waiting) >= _TOGETHER or waiting_bytes >= _TOGETHER_BYTES:
                keep_waiting()
            return sha256

        yield store
        keep_waiting()


def blob_keep(actor: Actor, user: User | None, arrived: Arrived) -> Blob:
    """Store received bytes, for other services; ``user`` uploaded them."""
    return blobs_keep(actor, user, [arrived])[arrived.sha256]


def blobs_keep(actor: Actor, user: User | None, arrivals: Sequence[Arrived]) -> dict[str, Blob]:
    """:func:`blob_keep` for some hundreds at once; digest to blob."""
    store = storage.blob_store()
    arrived = {one.sha256: one for one in arrivals}
    # Before the transaction, which would hold locks while waiting for the disk.
    store.keep(*arrived.values())
    with transaction.atomic():
        blobs = _rows(arrived)
        # Again with the rows locked: bytes that were deleted in between are stored anew.
        store.keep(*arrived.values())
        if user is not None:
            uploads = [Upload(user=user, blob=blob) for blob in blobs.values()]
            Upload.objects.bulk_create(uploads, ignore_conflicts=True)
        audit_many(
            actor=actor,
            action="blob.store",
            details={blob.sha256: {"size_bytes": blob.size_bytes} for blob in blobs.values()},
        )
    return blobs


def blob_adopt(*, path: Path) -> Blob:
    """Store a file that a worker made, for the hub itself.

    Raises ``Unavailable`` ``storage_full``; ``TooLarge`` ``body_too_large``.
    """
    with path.open("rb") as stream:
        return blob_store(actor=None, stream=stream, size_bytes=path.stat().st_size)


def blob_store_bytes(*, actor: Actor, data: bytes) -> Blob:
    """:func:`blob_store` for bytes in memory."""
    return blob_store(actor=actor, stream=io.BytesIO(data), size_bytes=len(data))


def blob_used(*, actor: Actor, sha256s: Collection[str]) -> dict[str, Blob]:
    """Digest to blob for the bytes that ``actor`` need not upload, marked as used just now.

    Called before a client is told that bytes are present: the mark protects them for the grace
    period of garbage collection. All others must be uploaded. Not audited, since nothing changes.
    """
    usable = blobs_usable(actor, sha256s)
    now = timezone.now()
    stale = sorted(sha256 for sha256, blob in usable.items() if blob.used_at < now - _RECENTLY)
    for start in range(0, len(stale), AT_ONCE):
        some = stale[start : start + AT_ONCE]
        with transaction.atomic():
            # Locked and checked again, which serializes this with a condemnation.
            rows = Blob.objects.select_for_update(no_key=True).order_by("pk")
            still = rows.filter(pk__in=some, condemned_at=None)
            held = set(still.values_list("pk", flat=True))
            Blob.objects.filter(pk__in=held).update(used_at=now)
        lost = set(some) - held
        usable = {sha256: blob for sha256, blob in usable.items() if sha256 not in lost}
    return usable


def blobs_hold(sha256s: Collection[str]) -> None:
    """Protect blobs from collection until the caller's transaction, which references them, ends.

    Raises ``Invalid`` ``blob_missing`` if one was collected since the caller's check.
    """
    ordered = sorted(sha256s)
    held: set[str] = set()
    for start in range(0, len(ordered), AT_ONCE):
        rows = Blob.objects.select_for_update(no_key=True).filter(
            pk__in=ordered[start : start + AT_ONCE], condemned_at=None
        )
        # In a fixed order, so that two commits cannot deadlock.
        held |= set(rows.order_by("pk").values_list("pk", flat=True))
    missing = set(ordered) - held
    if missing:
        raise Invalid(
            "blob_missing",
            f"The bytes of {min(missing)} are no longer here; nobody used them for long.",
            "Upload them again, then commit again.",
        )


def _rows(arrived: Mapping[str, Arrived]) -> dict[str, Blob]:
    """The blobs' rows, locked until the transaction ends, with any condemnation cleared."""
    now = timezone.now()
    held: dict[str, Blob] = {}
    # Repeated if a row was deleted between the two statements.
    while missing := sorted(arrived.keys() - held.keys()):
        rows = [Blob(**_columns(arrived[sha256])) for sha256 in missing]
        Blob.objects.bulk_create(rows, ignore_conflicts=True)
        # In a fixed order, so that two uploads cannot deadlock.
        held |= {
            blob.sha256: blob
            for blob in Blob.objects.select_for_update().filter(pk__in=missing).order_by("pk")
        }
    Blob.objects.filter(pk__in=list(held)).update(used_at=now, condemned_at=None)
    for blob in held.values():
        blob.used_at, blob.condemned_at = now, None
        one = arrived[blob.sha256]
        if (blob.size_bytes, blob.git_oid) != (one.size_bytes, one.git_oid):
            blob.size_bytes, blob.git_oid = one.size_bytes, one.git_oid
            blob.save(update_fields=["size_bytes", "git_oid"])
    return held


def _columns(arrived: Arrived) -> dict[str, Any]:
    return {"sha256": arrived.sha256, "size_bytes": arrived.size_bytes, "git_oid": arrived.git_oid}
