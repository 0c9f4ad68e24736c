"""Taking bytes in, and promising that they stay.

The bytes are put in place first, durably; then, with their row held, it is seen to that they
still are, and the row is written. A row that is not condemned therefore always has its bytes,
though garbage collection may run at any moment (:mod:`registry.services.storage.gc`). A crash in
between leaves bytes without a row, which nobody can see.
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

#: A blob used so recently need not be noted as used again.
_RECENTLY = timedelta(hours=1)
#: Small files that wait to be kept together, and their bytes, which a store may hold in memory.
_TOGETHER = 200
_TOGETHER_BYTES = 16 * 2**20


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


@contextmanager
def blobs_store(*, actor: Actor) -> Iterator[Callable[[storage.Readable, int], str]]:
    """A function of stream and length that takes in many small files: the SHA-256 of each.

    They are kept together, some at a time, which spares the disk and the database; the last of
    them when the block ends, and not if it ends by an error.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require_scope`.
        RegistryError: the function, as :func:`blob_store`.
    """
    user = require_scope(actor, Scope.WRITE)
    waiting: list[Arrived] = []
    with ExitStack() as arrivals:

        def keep() -> None:
            if waiting:
                blobs_keep(actor, user, waiting)
            waiting.clear()
            arrivals.close()

        def take(stream: storage.Readable, size_bytes: int) -> str:
            arriving = storage.blob_store().receive(
                stream, size_bytes=size_bytes, limit_bytes=settings.MAX_BLOB_BYTES
            )
            waiting.append(arrivals.enter_context(arriving))
            sha256 = waiting[-1].sha256
            waiting_bytes = sum(one.size_bytes for one in waiting)
            if len(waiting) >= _TOGETHER or waiting_bytes >= _TOGETHER_BYTES:
                keep()
            return sha256

        yield take
        keep()


def blob_keep(actor: Actor, user: User | None, arrived: Arrived) -> Blob:
    """Keep what has arrived, for the services that receive; ``user`` proved to have the bytes."""
    return blobs_keep(actor, user, [arrived])[arrived.sha256]


def blobs_keep(actor: Actor, user: User | None, arrivals: Sequence[Arrived]) -> dict[str, Blob]:
    """:func:`blob_keep` for some hundreds at once; digest to blob."""
    store = storage.blob_store()
    arrived = {one.sha256: one for one in arrivals}
    # Before the transaction: it waits for the disk, and nobody should wait for it.
    store.keep(*arrived.values())
    with transaction.atomic():
        blobs = _rows(arrived)
        # Again, now that the rows are held: what was deleted in between is put in place anew.
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
        with transaction.atomic():
            # Looked at again: of this and of a condemnation at the same time, one comes first.
            rows = Blob.objects.select_for_update(no_key=True).order_by("pk")
            still = rows.filter(pk__in=some, condemned_at=None)
            held = set(still.values_list("pk", flat=True))
            Blob.objects.filter(pk__in=held).update(used_at=now)
        lost = set(some) - held
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


def _rows(arrived: Mapping[str, Arrived]) -> dict[str, Blob]:
    """The blobs' rows, held until the transaction ends, and free of any condemnation."""
    now = timezone.now()
    held: dict[str, Blob] = {}
    # Again where a row was deleted between the two statements.
    while missing := sorted(arrived.keys() - held.keys()):
        made = [_facts(arrived[sha256]) for sha256 in missing]
        Blob.objects.bulk_create([Blob(**facts) for facts in made], ignore_conflicts=True)
        # In one order, so that two uploads never wait for each other.
        held |= {
            blob.sha256: blob
            for blob in Blob.objects.select_for_update().filter(pk__in=missing).order_by("pk")
        }
    Blob.objects.filter(pk__in=list(held)).update(used_at=now, condemned_at=None)
    for blob in held.values():
        blob.used_at, blob.condemned_at = now, None
        facts = _facts(arrived[blob.sha256])
        if (blob.size_bytes, blob.git_oid) != (facts["size_bytes"], facts["git_oid"]):
            blob.size_bytes, blob.git_oid = facts["size_bytes"], facts["git_oid"]
            blob.save(update_fields=["size_bytes", "git_oid"])
    return held


def _facts(arrived: Arrived) -> dict[str, Any]:
    """What its row says of it."""
    return {
        "sha256": arrived.sha256,
        "size_bytes": arrived.size_bytes,
        "git_oid": arrived.git_oid,
    }
