"""Bytes named by their digest, and proof of who uploaded them."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from registry.ids import oid_column, sha256_column


class Blob(models.Model):
    """Bytes that are stored completely and durably; the row is written after the bytes.

    ``git_oid`` is git's id of the same bytes as a blob object, which clients compare. ``used_at``
    is the time of the last upload, or of the last answer that they need not be uploaded; garbage
    collection deletes blobs that are unreferenced and unused for a while. Its first step sets
    ``condemned_at``: a condemned blob counts as absent, though its bytes may still exist.
    """

    sha256 = sha256_column(primary_key=True)
    size_bytes = models.BigIntegerField()
    git_oid = oid_column()
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(default=timezone.now, db_index=True)
    condemned_at = models.DateTimeField(null=True, blank=True, db_index=True)
    # Whether a large file has these bytes, and its chunks are to be found for downloads by Xet.
    awaits_chunks = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(
                fields=["created_at", "sha256"],
                condition=models.Q(awaits_chunks=True),
                name="blob_awaits_chunks",
            )
        ]


class Upload(models.Model):
    """Proof that a person possessed a blob's bytes.

    A commit may name a blob only if its author uploaded it or may read it elsewhere; otherwise
    knowing a digest would be enough to read a private file.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="uploads")
    blob = models.ForeignKey(Blob, models.CASCADE, related_name="uploads")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "blob"], name="upload_unique")]


class PartsBegun(models.Model):
    """An upload in parts that was begun; the row is deleted when it is joined or aborted.

    ``key`` is the digest of the store's name for it, which is a secret. Rows of uploads that are
    never joined are deleted when garbage collection may have deleted the parts.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="parts_begun")
    key = sha256_column(unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
