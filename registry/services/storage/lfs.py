"""Large files on their way in and out, as Git LFS sees them: objects named by their SHA-256.

Source: git-lfs ``docs/api/batch.md``. A client names many objects at once and is told of each how
to send or fetch it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from registry.errors import Invalid, NotFound, RegistryError
from registry.ids import SHA256_RE
from registry.selectors.access import Actor, require_fetch
from registry.selectors.storage.lfsfile import blobs_held
from registry.selectors.storage.quota import bytes_added
from registry.services.discussion.talk import require_voice
from registry.services.storage.blob import blob_used
from registry.services.storage.parts import parts_begin
from registry.services.storage.quota import quota_check
from registry.storage import PartUpload
from registry.storage.meter import too_large
from registry.tables import Blob, MLModel


@dataclass(frozen=True, slots=True)
class LfsObject:
    """What a client names: a digest, and the length it believes the bytes to have."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LfsWay:
    """What a client is told of an object.

    Attributes:
        blob: The bytes, where they are here; when uploading, nothing is left to do.
        parts: How to send them in parts; ``None`` for in one piece.
        refusal: Why they can be neither sent nor fetched.
    """

    asked: LfsObject
    blob: Blob | None = None
    parts: PartUpload | None = None
    refusal: RegistryError | None = None


def lfs_upload(
    *, actor: Actor, mlmodel: MLModel, objects: Sequence[LfsObject], in_parts: bool
) -> list[LfsWay]:
    """How to send each of ``objects``.

    Whoever may propose changes may send: the commit is judged by itself. An object counts as
    here only for an actor who may name it in a commit.

    Args:
        in_parts: Whether the client can send a large file as several parts.

    Raises:
        Unauthenticated, Forbidden, NotFound: see
            :func:`registry.services.discussion.talk.require_voice`.
        Forbidden: ``quota_exceeded``.
    """
    require_voice(actor, mlmodel)
    _check_room(mlmodel, objects)
    known = blob_used(actor=actor, sha256s=[asked.sha256 for asked in objects])
    return [_way_in(actor, asked, known.get(asked.sha256), in_parts=in_parts) for asked in objects]


def _check_room(mlmodel: MLModel, objects: Sequence[LfsObject]) -> None:
    """Refuse before anything is sent what the commit would have to refuse in the end."""
    sizes = {
        asked.sha256: asked.size_bytes for asked in objects if SHA256_RE.fullmatch(asked.sha256)
    }
    quota_check(mlmodel.namespace, bytes_added(mlmodel, sizes))


def lfs_download(*, actor: Actor, mlmodel: MLModel, objects: Sequence[LfsObject]) -> list[LfsWay]:
    """Where each of ``objects`` is, as far as a revision of ``mlmodel`` holds it.

    Raises:
        Unauthenticated, Forbidden: ``access_gated``.
    """
    require_fetch(actor, mlmodel)
    held = blobs_held(mlmodel, [asked.sha256 for asked in objects])
    return [_way_out(asked, held.get(asked.sha256)) for asked in objects]


def _way_in(actor: Actor, asked: LfsObject, blob: Blob | None, *, in_parts: bool) -> LfsWay:
    if not SHA256_RE.fullmatch(asked.sha256):
        return LfsWay(asked, refusal=Invalid("invalid_request", "The oid is no SHA-256."))
    if asked.size_bytes > settings.MAX_BLOB_BYTES:
        return LfsWay(asked, refusal=too_large(settings.MAX_BLOB_BYTES))
    if blob is not None:
        return _present(asked, blob)
    if in_parts and asked.size_bytes > settings.PART_BYTES:
        return LfsWay(asked, parts=parts_begin(actor=actor, size_bytes=asked.size_bytes))
    return LfsWay(asked)


def _way_out(asked: LfsObject, blob: Blob | None) -> LfsWay:
    if blob is None:
        return LfsWay(asked, refusal=NotFound("blob_not_found", "There is no such object here."))
    return _present(asked, blob)


def _present(asked: LfsObject, blob: Blob) -> LfsWay:
    if blob.size_bytes != asked.size_bytes:
        detail = f"These bytes are {blob.size_bytes}, not {asked.size_bytes}."
        return LfsWay(asked, refusal=Invalid("size_mismatch", detail))
    return LfsWay(asked, blob=blob)
