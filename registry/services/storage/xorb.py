"""Taking xorbs in, and letting go of them when their chunks lie in files or nobody uses them."""

from collections.abc import Iterator
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
    """Keep a xorb for a file that ``actor`` is about to register, and note that they had it.

    The stream is read and verified even where the xorb is here already: whoever names it must
    prove to have it.

    Args:
        mlmodel: The repository whose Xet address it was sent to.
        xorb_hash: As addresses spell it.
        size_bytes: The length of the stream, if known.

    Returns:
        Whether it is new from them here; whether somebody else has it, nobody is told.

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
    # The file will have at least what of it is new.
    quota_check(mlmodel.namespace, size_bytes or 0)
    reader = XorbReader(stream, digest)
    if _is_here(xorb_hash):
        while reader.read(_PIECE_BYTES):
            pass
        payload = None
    else:
        # For the hub itself: a payload is nothing that anybody could commit.
        payload = blob_store(actor=None, stream=reader, size_bytes=size_bytes)
    with transaction.atomic():
        new = _note(user, mlmodel, xorb_hash, reader, payload)
        audit(
            actor=actor,
            action="xorb.store",
            subject=xorb_hash,
            namespace=mlmodel.namespace.name,
            detail={"new": payload is not None},
        )
    return new


def require_contributor(actor: Actor, mlmodel: MLModel) -> User | None:
    """Refuse unless ``actor`` could propose a change to ``mlmodel``: may read it, and may write.

    Whether they may put the change on a branch is for the commit to judge.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require_scope`.
        NotFound: ``model_not_found`` if they may not read it.
    """
    user = require_scope(actor, Scope.WRITE)
    if not readable_repositories(actor).filter(pk=mlmodel.pk).exists():
        raise NotFound("model_not_found", "There is no such model, or you may not read it.")
    return user


def xet_address_change(*, mlmodel: MLModel) -> None:
    """Let clients forget what they sent to ``mlmodel``: its Xet address changes.

    What they were told at the old address stays usable there as far as it is true.
    """
    MLModel.objects.filter(pk=mlmodel.pk).update(xet_epoch=F("xet_epoch") + 1)


def xorb_sweep(*, grace: timedelta) -> int:
    """Let go of payloads that are of no more use, and of xorbs of which nothing is left.

    A payload is of no more use when all of its chunks lie in files, or when its xorb was not sent
    for ``grace``. Where chunks are lost by that, or because a file went, the repositories at
    whose addresses clients may still count on them change their address first. Safe to run at
    any time, by several processes at once.

    Returns:
        Number of payloads let go; garbage collection then finds them without a reference.
    """
    horizon = timezone.now() - grace
    kept = Xorb.objects.exclude(payload=None)
    dropped = sum(_drop_payloads(some, horizon) for some in _batches(kept))
    for some in _batches(Xorb.objects.filter(payload=None, uploads__isnull=False).distinct()):
        _forget_lost(some)
    Xorb.objects.filter(payload=None, runs=None, uploads=None).delete()
    return dropped


def is_whole(xorb: Xorb, runs: list[Run]) -> bool:
    """Whether all chunks of ``xorb`` are here, given where they lie in files."""
    return xorb.payload_id is not None or bool(covered(xorb.chunk_count, runs).all())


def _is_here(xorb_hash: str) -> bool:
    xorb = Xorb.objects.filter(hash=xorb_hash).defer("chunks").first()
    return xorb is not None and is_whole(xorb, runs_of([xorb_hash]).get(xorb_hash, []))


def _note(
    user: User | None, mlmodel: MLModel, xorb_hash: str, reader: XorbReader, payload: Blob | None
) -> bool:
    if payload is None:
        # Should it go between the look and this, the file's registration will say so.
        Xorb.objects.filter(hash=xorb_hash).update(used_at=timezone.now())
    else:
        blobs_hold([payload.sha256])
        # Packed lengths and the payload they are true of change in one statement.
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
    dropped = 0
    for xorb in some:
        in_files = covered(xorb.chunk_count, runs.get(xorb.hash, [])).all()
        if in_files or xorb.used_at < horizon:
            # Filtered by what was seen: it may have been sent again since.
            seen = Xorb.objects.filter(
                hash=xorb.hash, payload=xorb.payload_id, used_at=xorb.used_at
            )
            dropped += seen.update(payload=None)
    return dropped


def _forget_lost(some: list[Xorb]) -> None:
    """See to it that no client counts on what is lost of these xorbs."""
    with transaction.atomic():
        # The lock keeps out who is about to send one of them again.
        rows = Xorb.objects.filter(hash__in=[xorb.hash for xorb in some], payload=None)
        locked = list(rows.select_for_update().order_by("hash").defer("chunks"))
        runs = runs_of([xorb.hash for xorb in locked])
        lost = [xorb.hash for xorb in locked if not is_whole(xorb, runs.get(xorb.hash, []))]
        believed = XorbUpload.objects.filter(xorb__in=lost)
        told = MLModel.objects.filter(pk__in=believed.values("mlmodel"))
        if told.update(xet_epoch=F("xet_epoch") + 1):
            audit(actor=None, action="xorb.forget", subject=f"{len(lost)} xorbs")
        believed.delete()
