"""Xorbs, which the Xet protocol transfers in place of files: packs of chunks and their location.

A xorb holds up to 64 MiB of chunks. Files are assembled from them at once and stored whole, as
every other blob (ADR 0011); a xorb's payload is stored only until all of its chunks occur in
files, or until it has been unused for a while. The list of its chunks stays, so that a client
that sent them before, or that queries a chunk by hash, need not send them again.
"""

from django.conf import settings
from django.db import models
from django.db.models import Q

from registry.ids import sha256_column
from registry.tables.repository.mlmodel import MLModel
from registry.tables.storage.blob import Blob


class Xorb(models.Model):
    """A pack of chunks, named by its Xet hash (a Merkle root over BLAKE3 hashes of chunks).

    ``chunks`` holds one fixed-size record per chunk, see :mod:`registry.xet.chunks`; ``payload``
    the serialised chunks as received, while they are stored. ``used_at`` is the time of the last
    upload.
    """

    hash = sha256_column(primary_key=True)
    chunks = models.BinaryField()
    chunk_count = models.PositiveIntegerField()
    payload = models.ForeignKey(Blob, models.SET_NULL, null=True, related_name="xorbs")
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(db_index=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["hash"], condition=Q(payload__isnull=False), name="xorb_with_payload"
            )
        ]


class XorbUpload(models.Model):
    """Proof that a person possessed a xorb and may use all of its chunks; see :class:`Upload`.

    The person's client assumes that the xorb is stored at the repository's Xet address. That is
    true while this row exists; before it becomes false, the repository's address changes.
    """

    xorb = models.ForeignKey(Xorb, models.CASCADE, related_name="uploads")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="xorb_uploads")
    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="xorb_uploads")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["xorb", "user", "mlmodel"], name="xorb_upload_unique")
        ]


class XorbRun(models.Model):
    """Chunks ``first`` to ``end`` (exclusive) of a xorb, unpacked in a blob from ``offset`` on."""

    xorb = models.ForeignKey(Xorb, models.CASCADE, related_name="runs")
    first = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    blob = models.ForeignKey(Blob, models.CASCADE, related_name="xorb_runs")
    offset = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["xorb", "blob", "first", "end", "offset"], name="xorb_run_unique"
            )
        ]


class XorbChunk(models.Model):
    """A chunk that clients may query by hash: about one in a thousand, selected by the hash."""

    hash = sha256_column(db_index=True)
    xorb = models.ForeignKey(Xorb, models.CASCADE, related_name="sampled")
    position = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["hash", "xorb"], name="xorb_chunk_unique")]


class XetFile(models.Model):
    """The Xet hash of a blob that was uploaded by the Xet protocol."""

    hash = sha256_column(primary_key=True)
    blob = models.ForeignKey(Blob, models.CASCADE, related_name="xet_files")
