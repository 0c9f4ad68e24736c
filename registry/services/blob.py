"""Taking bytes in.

The bytes are stored first, durably, and the row is written after: a row therefore always has its
bytes. A crash in between leaves bytes without a row, which nobody can see and a later upload of
the same bytes finds in place.
"""

import io
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from registry import storage
from registry.selectors.access import Actor, require_scope
from registry.services.audit import audit
from registry.states import Scope
from registry.tables import Blob, Upload


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
        stream: Read to its end, in pieces.
        sha256: The digest the bytes must have, if known.
        size_bytes: The length they must have, if known.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require_scope`.
        Invalid: ``digest_mismatch`` or ``size_mismatch``.
        TooLarge: ``body_too_large``.
        Unavailable: ``storage_full``.
    """
    user = require_scope(actor, Scope.WRITE)
    stored = storage.blob_store().put(
        stream, sha256=sha256, size_bytes=size_bytes, limit_bytes=settings.MAX_BLOB_BYTES
    )
    with transaction.atomic():
        blob, _ = Blob.objects.get_or_create(
            sha256=stored.sha256,
            defaults={
                "size_bytes": stored.size_bytes,
                "git_oid": stored.git_oid,
                "used_at": timezone.now(),
            },
        )
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
