"""Bytes, named by their digest."""

from django.db import models

from registry.ids import oid_column, sha256_column


class Blob(models.Model):
    """Bytes that are stored whole and durably; the row is written after the bytes are.

    ``git_oid`` is what git calls the same bytes as a blob object: clients compare it.
    """

    sha256 = sha256_column(primary_key=True)
    size_bytes = models.BigIntegerField()
    git_oid = oid_column()
    created_at = models.DateTimeField(auto_now_add=True)
