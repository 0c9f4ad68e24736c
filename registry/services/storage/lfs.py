"""Transfer of large files by Git LFS: objects named by their SHA-256.

Source: git-lfs ``docs/api/batch.md``. A client names many objects at once and receives for each
the way to upload or download it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from registry.errors import Invalid, NotFound, RegistryError
from registry.ids import SHA256_RE
from registry.selectors.access import Actor
from registry.selectors.repository.gate import require_fetch
from registry.selectors.storage.lfsfile import blobs_held
from registry.services.discussion.talk import require_voice
from registry.services.storage.blob import blob_used
from registry.services.storage.parts import parts_begin
from registry.services.storage.quota import quota_check_blobs
from registry.storage import PartUpload
from registry.storage.meter import too_large
from registry.tables import Blob, MLModel


@dataclass(frozen=True, slots=True)
class LfsObject:
    """An object of a client's request: digest, and length in bytes as the client states it."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LfsTransfer:
    """How to transfer an object.

    Attributes:
        blob: The bytes if they are present; an upload is then complete.
        parts: The multipart upload; ``None`` for an upload in one piece.
        refusal: Why the object can be neither uploaded nor downloaded.
    """

    requested: LfsObject
    blob: Blob | None = None
    parts: PartUpload | None = None
    refusal: RegistryError | None = None


def lfs_upload(
    *, actor: Actor, mlmodel: MLModel, objects: Sequence[LfsObject], in_parts: bool
) -> list[LfsTransfer]:
    """How to upload each of ``objects``.

    Actors that may propose changes may upload; the commit is authorized separately. An object
    counts as present only for an actor who may name it in a commit.

    ``in_parts`` tells whether the client can send a large file as several parts. Raises
    ``Unauthenticated``, ``Forbidden`` or ``NotFound`` as
    :func:`registry.services.discussion.talk.require_voice`; ``Forbidden`` ``quota_exceeded``.
    """
    require_voice(actor, mlmodel)
    _check_room(mlmodel, objects)
    present = blob_used(actor=actor, sha256s=[requested.sha256 for requested in objects])
    return [
        _upload_of(actor, requested, present.get(requested.sha256), in_parts=in_parts)
        for requested in objects
    ]


def _check_room(mlmodel: MLModel, objects: Sequence[LfsObject]) -> None:
    """Refuse objects beyond the quota before their upload."""
    sizes = {
        requested.sha256: requested.size_bytes
        for requested in objects
        if SHA256_RE.fullmatch(requested.sha256)
    }
    quota_check_blobs(mlmodel, sizes)


def lfs_download(
    *, actor: Actor, mlmodel: MLModel, objects: Sequence[LfsObject]
) -> list[LfsTransfer]:
    """How to download each of ``objects``, if a revision of ``mlmodel`` holds it.

    Raises ``Unauthenticated`` or ``Forbidden`` ``access_gated``.
    """
    require_fetch(actor, mlmodel)
    held = blobs_held(mlmodel, [requested.sha256 for requested in objects])
    return [_download_of(requested, held.get(requested.sha256)) for requested in objects]


def _upload_of(
    actor: Actor, requested: LfsObject, blob: Blob | None, *, in_parts: bool
) -> LfsTransfer:
    if not SHA256_RE.fullmatch(requested.sha256):
        return LfsTransfer(requested, refusal=Invalid("invalid_request", "The oid is no SHA-256."))
    if requested.size_bytes > settings.MAX_BLOB_BYTES:
        return LfsTransfer(requested, refusal=too_large(settings.MAX_BLOB_BYTES))
    if blob is not None:
        return _present(requested, blob)
    if in_parts and requested.size_bytes > settings.PART_BYTES:
        return LfsTransfer(
            requested, parts=parts_begin(actor=actor, size_bytes=requested.size_bytes)
        )
    return LfsTransfer(requested)


def _download_of(requested: LfsObject, blob: Blob | None) -> LfsTransfer:
    if blob is None:
        return LfsTransfer(
            requested, refusal=NotFound("blob_not_found", "There is no such object here.")
        )
    return _present(requested, blob)


def _present(requested: LfsObject, blob: Blob) -> LfsTransfer:
    if blob.size_bytes != requested.size_bytes:
        detail = f"These bytes are {blob.size_bytes}, not {requested.size_bytes}."
        return LfsTransfer(requested, refusal=Invalid("size_mismatch", detail))
    return LfsTransfer(requested, blob=blob)
