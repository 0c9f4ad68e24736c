"""Bytes, named by their digest."""

from django.db import models
from django.utils import timezone

from registry.ids import oid_column, sha256_column


class Blob(models.Model):
    """Bytes that are stored whole and durably; the row is written after the bytes are.

    ``git_oid`` is what git calls the same bytes as a blob object: clients compare it.

    ``used_at`` is when somebody last handed the bytes in or was told that they are here; garbage
    collection lets go of what nothing refers to and nobody used for a while. ``condemned_at`` is
    its first step: a condemned blob counts as absent, though its bytes may still be there.
    """

    sha256 = sha256_column(primary_key=True)
    size_bytes = models.BigIntegerField()
    git_oid = oid_column()
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(default=timezone.now, db_index=True)
    condemned_at = models.DateTimeField(null=True, blank=True, db_index=True)
