"""Multipart upload of a large file, by several requests.

The requests that carry parts are authorized by their address alone, since Git LFS sends no
credentials with them. The caller therefore signs those addresses, with the :class:`PartUpload`
inside: its fields are strings and numbers, and ``PartUpload(**fields)`` restores it. The rows of
uploads in progress only count them; one that is never joined is deleted by garbage collection.
"""

import hashlib
from collections.abc import Mapping

from django.conf import settings
from django.utils import timezone

from registry import storage
from registry.errors import NotFound
from registry.selectors.access import Actor, require_scope
from registry.services.storage.blob import blob_keep, blob_used
from registry.services.storage.quota import quota_check_uploads
from registry.states import Scope
from registry.storage import PartUpload
from registry.storage.meter import too_large
from registry.tables import Blob, PartsBegun


def parts_begin(*, actor: Actor, size_bytes: int) -> PartUpload:
    """Begin the upload of a file of ``size_bytes`` in parts.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require_scope`;
    ``quota_exceeded`` for too many uploads of the actor; ``TooLarge`` ``body_too_large``.
    """
    user = require_scope(actor, Scope.WRITE)
    if size_bytes > settings.MAX_BLOB_BYTES:
        raise too_large(settings.MAX_BLOB_BYTES)
    if user is not None:
        user.parts_begun.filter(created_at__lt=timezone.now() - settings.GC_GRACE).delete()
        quota_check_uploads(actor)
    upload = storage.blob_store().parts_begin(size_bytes)
    if user is not None:
        PartsBegun.objects.create(user=user, key=_row_key(upload))
    return upload


def part_store(*, upload: PartUpload, number: int, stream: storage.Readable) -> str:
    """Read ``stream`` to its end as part ``number``; the part's ETag, without quotes.

    Neither authorized nor audited: that happened when the upload began. Raises ``NotFound``
    ``upload_not_found``; ``Invalid`` ``size_mismatch``, or ``invalid_request`` for a number out of
    range; ``Unavailable`` ``storage_full``.
    """
    return storage.blob_store().part_put(upload, number, stream)


def part_url(*, upload: PartUpload, number: int, expires_s: int) -> str | None:
    """A pre-signed address of the store for part ``number``.

    ``None`` if the store has none, or clients may not use it: see :func:`part_store`.
    """
    if not settings.S3_REDIRECT:
        return None
    return storage.blob_store().part_url(upload, number, expires_s=expires_s)


def parts_join(*, actor: Actor, upload: PartUpload, etags: Mapping[int, str], sha256: str) -> Blob:
    """Store the complete file under ``sha256`` and record that ``actor`` uploaded it.

    Nothing of it is visible before all of it was verified. Idempotent.

    ``etags`` maps part numbers, from 1, to the ETags that the uploads of the parts returned. Raises
    ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require_scope`;
    ``NotFound`` ``upload_not_found``; ``Invalid`` ``digest_mismatch``, ``size_mismatch``, or
    ``invalid_request`` if a part is missing.
    """
    user = require_scope(actor, Scope.WRITE)
    try:
        with storage.blob_store().parts_join(upload, etags, sha256=sha256) as arrived:
            blob = blob_keep(actor, user, arrived)
            _forget(upload)
            return blob
    except NotFound:
        # Repeated after a lost answer: the parts have been joined already.
        joined = blob_used(actor=actor, sha256s=[sha256]).get(sha256)
        if joined is None:
            raise
        return joined


def parts_abort(*, upload: PartUpload) -> None:
    """Delete an upload that will not be joined."""
    storage.blob_store().parts_abort(upload)
    _forget(upload)


def _forget(upload: PartUpload) -> None:
    PartsBegun.objects.filter(key=_row_key(upload)).delete()


def _row_key(upload: PartUpload) -> str:
    return hashlib.sha256(upload.key.encode()).hexdigest()
