"""Upload of xorbs, and release of payloads that are unused or whose chunks files contain."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from registry.errors import Invalid, NotFound
from registry.selectors.access import Actor, readable_repositories, require_scope
from registry.selectors.storage.xorb import Run, covered, runs_of
from registry.services.audit import audit
from registry.services.storage.blob import blob_store, blobs_hold
from registry.services.storage.quota import quota_check
from registry.states import Scope
from registry.storage import Readable
from registry.tables import Blob, MLModel, User, Xorb, XorbChunk, XorbUpload
from registry.xet.hashes import parsed, spelled
from registry.xet.xorb import MAX_BYTES, XorbReader

_PIECE_BYTES = 1 << 20
_AT_ONCE = 500


def xorb_store(
    *,
    actor: Actor,
    mlmodel: MLModel,
    xorb_hash: str,
    stream: Readable,
    size_bytes: int | None = None,
) -> bool:
    """Store a xorb for a file that ``actor`` will register, and record that they sent it.

    The stream is read and verified even if the xorb is stored already, since the actor must prove
    to have it. Returns whether it is the actor's first upload of it here, which does not reveal
    uploads of others.

    Args:
        mlmodel: The repository whose Xet address the xorb was sent to.
        xorb_hash: As in addresses.
        size_bytes: The length of the stream, if known.

    Raises:
        Unauthenticated, Forbidden, NotFound: see :func:`require_contributor`.
        Forbidden: ``quota_exceeded``.
        Invalid: ``invalid_xorb``, ``size_mismatch``.
        Unavailable: ``storage_full``.
    """
    user = require_contributor(actor, mlmodel)
    digest = parsed(xorb_hash)
    if digest is None:
        raise Invalid("invalid_xorb", f"{xorb_hash[:100]!r} is no hash of a xorb.")
    xorb_hash = spelled(digest)
    if size_bytes is not None and size_bytes > MAX_BYTES:
        raise Invalid("invalid_xorb", f"A xorb has at most {MAX_BYTES} bytes.")
    # An early check: the file will be at least as long.
    quota_check(mlmodel.namespace, size_bytes or 0)
    reader = XorbReader(stream, digest)
    if _is_here(xorb_hash):
        while reader.read(_PIECE_BYTES):
            pass
        payload = None
    else:
        # As the hub itself, so that no person can name the payload in a commit.
        payload = blob_store(actor=None, stream=reader, size_bytes=size_bytes)
    with transaction.atomic():
        new = _record(user, mlmodel, xorb_hash, reader, payload)
        audit(
            actor,
            "xorb.store",
            xorb_hash,
            namespace=mlmodel.namespace.name,
            detail={"new": payload is not None},
        )
    return new


def require_contributor(actor: Actor, mlmodel: MLModel) -> User | None:
    """Refuse unless ``actor`` may propose a change to ``mlmodel``: may read it, with scope write.

    The commit checks whether they may change a branch. Raises ``Unauthenticated`` or ``Forbidden``
    as :func:`registry.selectors.access.require_scope`; ``NotFound`` ``model_not_found`` if they may
    not read it.
    """
    user = require_scope(actor, Scope.WRITE)
    if not readable_repositories(actor).filter(pk=mlmodel.pk).exists():
        raise NotFound("model_not_found", "There is no such model, or you may not read it.")
    return user


def xet_address_change(*, mlmodel: MLModel) -> None:
    """Change the Xet address of ``mlmodel``, so that clients no longer rely on earlier uploads.

    The old address stays usable for chunks that are still stored.
    """
    MLModel.objects.filter(pk=mlmodel.pk).update(xet_epoch=F("xet_epoch") + 1)


def xorb_sweep(*, grace: timedelta) -> int:
    """Release payloads that are no longer needed, and delete their xorbs if no chunk is left.

    A payload is no longer needed if files contain all of its chunks, or if its xorb was not sent
    for ``grace``. Only xorbs with a payload are read: those of the uploads of about ``grace``. Safe
    to run at any time, by several processes at once. Returns the number of released payloads, which
    garbage collection deletes.
    """
    horizon = timezone.now() - grace
    with_payload = Xorb.objects.filter(payload__isnull=False)
    return sum(_drop_payloads(some, horizon) for some in _batches(with_payload))


def xorbs_shrink(hashes: Collection[str]) -> None:
    """Follow the loss of chunks of these xorbs, in the transaction that deletes a payload or files.

    If a client may still rely on lost chunks, the repositories at whose Xet addresses it sent them
    change their address. Xorbs of which nothing is left are deleted.
    """
    ordered = sorted(hashes)
    for start in range(0, len(ordered), _AT_ONCE):
        some = ordered[start : start + _AT_ONCE]
        _forget_lost(some)
        Xorb.objects.filter(hash__in=some, payload=None, runs=None, uploads=None).delete()


def is_whole(xorb: Xorb, runs: list[Run]) -> bool:
    """Whether all chunks of ``xorb`` are stored, given their locations in files."""
    return xorb.payload_id is not None or bool(covered(xorb.chunk_count, runs).all())


def _is_here(xorb_hash: str) -> bool:
    xorb = Xorb.objects.filter(hash=xorb_hash).defer("chunks").first()
    return xorb is not None and is_whole(xorb, runs_of([xorb_hash]).get(xorb_hash, []))


def _record(
    user: User | None, mlmodel: MLModel, xorb_hash: str, reader: XorbReader, payload: Blob | None
) -> bool:
    if payload is None:
        # If it was deleted since the check, the registration of the file reports it.
        Xorb.objects.filter(hash=xorb_hash).update(used_at=timezone.now())
    else:
        blobs_hold([payload.sha256])
        # One statement, since the packed lengths describe this payload only.
        Xorb.objects.update_or_create(
            hash=xorb_hash,
            defaults={
                "chunks": reader.records(),
                "chunk_count": reader.chunk_count,
                "payload": payload,
                "used_at": timezone.now(),
            },
        )
        XorbChunk.objects.bulk_create(
            [
                XorbChunk(hash=spelled(chunk), xorb_id=xorb_hash, position=position)
                for position, chunk in reader.sampled()
            ],
            ignore_conflicts=True,
        )
    if user is None:
        return payload is not None
    _, new = XorbUpload.objects.get_or_create(xorb_id=xorb_hash, user=user, mlmodel=mlmodel)
    return new


def _batches(rows: QuerySet[Xorb]) -> Iterator[list[Xorb]]:
    last = ""
    while some := list(rows.filter(hash__gt=last).order_by("hash").defer("chunks")[:_AT_ONCE]):
        yield some
        last = some[-1].hash


def _drop_payloads(some: list[Xorb], horizon: datetime) -> int:
    runs = runs_of([xorb.hash for xorb in some])
    dropped = []
    with transaction.atomic():
        for xorb in some:
            in_files = covered(xorb.chunk_count, runs.get(xorb.hash, [])).all()
            if in_files or xorb.used_at < horizon:
                # Only if unchanged: it may have been sent again since.
                unchanged = Xorb.objects.filter(
                    hash=xorb.hash, payload=xorb.payload_id, used_at=xorb.used_at
                )
                if unchanged.update(payload=None):
                    dropped.append(xorb.hash)
        xorbs_shrink(dropped)
    return len(dropped)


def _forget_lost(hashes: Sequence[str]) -> None:
    """Delete the records that clients sent those of ``hashes`` that have lost chunks."""
    # The lock excludes a concurrent upload of the same xorb.
    rows = Xorb.objects.filter(hash__in=hashes, payload=None)
    locked = list(rows.select_for_update().order_by("hash").defer("chunks"))
    runs = runs_of([xorb.hash for xorb in locked])
    lost = [xorb.hash for xorb in locked if not is_whole(xorb, runs.get(xorb.hash, []))]
    uploads = XorbUpload.objects.filter(xorb__in=lost)
    repositories = MLModel.objects.filter(pk__in=uploads.values("mlmodel"))
    if repositories.update(xet_epoch=F("xet_epoch") + 1):
        audit(None, "xorb.forget", f"{len(lost)} xorbs")
    uploads.delete()
