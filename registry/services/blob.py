"""Taking bytes in, and promising that they stay.

The bytes are put in place first, durably; then, with their row held, it is seen to that they
still are, and the row is written. A row that is not condemned therefore always has its bytes,
though garbage collection may run at any moment (:mod:`registry.services.gc`). A crash in between
leaves bytes without a row, which nobody can see.
"""

import io
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from registry import storage
from registry.errors import Invalid
from registry.selectors.access import Actor, require_scope
from registry.selectors.blob import AT_ONCE, blobs_usable
from registry.services.audit import audit
from registry.states import Scope
from registry.storage import Arrived
from registry.tables import Blob, Upload, User

#: A blob used so recently need not be noted as used again.
_RECENTLY = timedelta(hours=1)


def blob_store(
    *,
    actor: Actor,
    stream: storage.Readable,
    sha256: str | None = None,
    size_bytes: int | None = None,
) -> Blob:
    """Keep the bytes of ``stream`` and note that ``actor`` had them.

    Args:
        actor: Whoever hands the bytes in; may name them in commits from now on.
        stream: Read to its end, in pieces. What it raises passes through, and nothing is kept.
        sha256: The digest the bytes must have, if known.
        size_bytes: The length they must have, if known.

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


def blob_keep(actor: Actor, user: User | None, arrived: Arrived) -> Blob:
    """Keep what has arrived, for the services that receive; ``user`` proved to have the bytes."""
    store = storage.blob_store()
    # Before the transaction: it waits for the disk, and nobody should wait for it.
    store.keep(arrived)
    with transaction.atomic():
        blob = _row(arrived)
        # Again, now that the row is held: what was deleted in between is put in place anew.
        store.keep(arrived)
        if user is not None:
            Upload.objects.get_or_create(user=user, blob=blob)
        audit(
            actor=actor,
            action="blob.store",
            subject=blob.sha256,
            detail={"size_bytes": blob.size_bytes},
        )
    return blob


def blob_adopt(*, path: Path) -> Blob:
    """Keep a file a worker made, for the hub itself.

    Raises:
        Unavailable: ``storage_full``.
        TooLarge: ``body_too_large``.
    """
    with path.open("rb") as stream:
        return blob_store(actor=None, stream=stream, size_bytes=path.stat().st_size)


def blob_store_bytes(*, actor: Actor, data: bytes) -> Blob:
    """:func:`blob_store` for bytes that are in memory anyway."""
    return blob_store(actor=actor, stream=io.BytesIO(data), size_bytes=len(data))


def blob_used(*, actor: Actor, sha256s: Collection[str]) -> dict[str, Blob]:
    """Promise ``actor`` that bytes are here: digest to blob for those they need not upload.

    To be asked wherever a client is told "already there": the blobs in the answer stay for as
    long as garbage collection spares what was just used. All others must be uploaded. Not
    audited: nobody changed anything.
    """
    usable = blobs_usable(actor, sha256s)
    now = timezone.now()
    stale = sorted(sha256 for sha256, blob in usable.items() if blob.used_at < now - _RECENTLY)
    for start in range(0, len(stale), AT_ONCE):
        some = stale[start : start + AT_ONCE]
        # Filtered again: of this and of a condemnation at the same time, one comes first.
        Blob.objects.filter(pk__in=some, condemned_at=None).update(used_at=now)
        lost = set(some) - set(
            Blob.objects.filter(pk__in=some, condemned_at=None).values_list("pk", flat=True)
        )
        usable = {sha256: blob for sha256, blob in usable.items() if sha256 not in lost}
    return usable


def blobs_hold(sha256s: Collection[str]) -> None:
    """Keep blobs from being collected until the caller's transaction, which refers to them, ends.

    Raises:
        Invalid: ``blob_missing`` where one was collected since the caller looked.
    """
    wanted = sorted(sha256s)
    held: set[str] = set()
    for start in range(0, len(wanted), AT_ONCE):
        rows = Blob.objects.select_for_update(no_key=True).filter(
            pk__in=wanted[start : start + AT_ONCE], condemned_at=None
        )
        # In one order, so that two commits never wait for each other.
        held |= set(rows.order_by("pk").values_list("pk", flat=True))
    gone = set(wanted) - held
    if gone:
        raise Invalid(
            "blob_missing",
            f"The bytes of {min(gone)} are no longer here; nobody used them for long.",
            "Upload them again, then commit again.",
        )


def _row(arrived: Arrived) -> Blob:
    """The blob's row, held until the transaction ends, and free of any condemnation."""
    facts = {
        "size_bytes": arrived.size_bytes,
        "git_oid": arrived.git_oid,
        "used_at": timezone.now(),
        "condemned_at": None,
    }
    blob, created = Blob.objects.select_for_update().get_or_create(
        sha256=arrived.sha256, defaults=facts
    )
    if not created:
        Blob.objects.filter(pk=blob.pk).update(**facts)
        blob.refresh_from_db()
    return blob
