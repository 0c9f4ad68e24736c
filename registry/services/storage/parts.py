"""Taking a large file in as parts, by several requests.

The requests that carry parts are authorised by their address alone (Git LFS sends no credentials
with them), so whoever makes those addresses signs them, with the :class:`PartUpload` inside: its
fields are strings and numbers, ``PartUpload(**fields)`` makes it again. There is no row for an
upload under way; one that is never joined is a leftover for garbage collection.
"""

from collections.abc import Mapping

from django.conf import settings

from registry import storage
from registry.errors import NotFound
from registry.selectors.access import Actor, require_scope
from registry.services.storage.blob import blob_keep, blob_used
from registry.states import Scope
from registry.storage import PartUpload
from registry.storage.meter import too_large
from registry.tables import Blob


def parts_begin(*, actor: Actor, size_bytes: int) -> PartUpload:
    """Make room for a file of ``size_bytes`` that comes in as parts.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require_scope`.
        TooLarge: ``body_too_large``.
    """
    require_scope(actor, Scope.WRITE)
    if size_bytes > settings.MAX_BLOB_BYTES:
        raise too_large(settings.MAX_BLOB_BYTES)
    return storage.blob_store().parts_begin(size_bytes)


def part_store(*, upload: PartUpload, number: int, stream: storage.Readable) -> str:
    """Read ``stream`` to its end as part ``number``; the part's ETag, without quotes.

    Not audited and not judged: the upload was, when it began.

    Raises:
        NotFound: ``upload_not_found``.
        Invalid: ``size_mismatch``, or ``invalid_request`` for a number out of range.
        Unavailable: ``storage_full``.
    """
    return storage.blob_store().part_put(upload, number, stream)


def part_url(*, upload: PartUpload, number: int, expires_s: int) -> str | None:
    """An address of the store itself that takes part ``number``.

    ``None`` where it has none, or clients are not to go there: see :func:`part_store`.
    """
    if not settings.S3_REDIRECT:
        return None
    return storage.blob_store().part_url(upload, number, expires_s=expires_s)


def parts_join(*, actor: Actor, upload: PartUpload, etags: Mapping[int, str], sha256: str) -> Blob:
    """Keep the whole file under ``sha256`` and note that ``actor`` had its bytes.

    Nothing of it can be seen before all of it was read through and found to be right. Asking
    again for what was joined is no error.

    Args:
        etags: The ETag that each part, from 1 on, was answered with.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require_scope`.
        NotFound: ``upload_not_found``.
        Invalid: ``digest_mismatch``, ``size_mismatch``, or ``invalid_request`` where a part is
            missing.
    """
    user = require_scope(actor, Scope.WRITE)
    try:
        with storage.blob_store().parts_join(upload, etags, sha256=sha256) as arrived:
            return blob_keep(actor, user, arrived)
    except NotFound:
        # Asked twice, since the first answer was lost: then it has happened already.
        joined = blob_used(actor=actor, sha256s=[sha256]).get(sha256)
        if joined is None:
            raise
        return joined


def parts_abort(*, upload: PartUpload) -> None:
    """Forget an upload that will not be joined."""
    storage.blob_store().parts_abort(upload)
