"""What the Xet protocol sends in place of files: packs of chunks, and where their bytes lie.

A xorb holds up to 64 MiB of chunks. Files are put together from them at once and kept whole, as
every other blob (ADR 0011); a xorb's payload is kept only until its chunks are all found in files
or it has been of no use for a while. What stays is the list of its chunks, so that a client that
knows it sent them, or that asks for a chunk by hash, need not send them again.
"""

from django.conf import settings
from django.db import models

from registry.ids import sha256_column
from registry.tables.repository.mlmodel import MLModel
from registry.tables.storage.blob import Blob


class Xorb(models.Model):
    """A pack of chunks, named by its Xet hash (a Merkle root over BLAKE3 hashes of chunks).

    ``chunks`` holds one fixed-size record per chunk, see :mod:`registry.xet.chunks`; ``payload``
    the serialised chunks as they came, while they are kept. ``used_at`` is when somebody last
    sent it.
    """

    hash = sha256_column(primary_key=True)
    chunks = models.BinaryField()
    chunk_count = models.PositiveIntegerField()
    payload = models.ForeignKey(Blob, models.SET_NULL, null=True, related_name="xorbs")
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(db_index=True)


class XorbUpload(models.Model):
    """A person possessed a xorb: may name all of its chunks, as :class:`Upload` says of blobs.

    Their client believes that all of it is kept at the repository's Xet address. While a row
    stands that is true; before it ceases to be, the repository's address changes.
    """

    xorb = models.ForeignKey(Xorb, models.CASCADE, related_name="uploads")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="xorb_uploads")
    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="xorb_uploads")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["xorb", "user", "mlmodel"], name="xorb_upload_unique")
        ]


class XorbRun(models.Model):
    """Chunks ``first`` to before ``end`` of a xorb lie, unpacked, in a blob from ``offset`` on."""

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
    """A chunk clients may ask for by hash: about every thousandth, chosen by the hash itself."""

    hash = sha256_column(db_index=True)
    xorb = models.ForeignKey(Xorb, models.CASCADE, related_name="sampled")
    position = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["hash", "xorb"], name="xorb_chunk_unique")]


class XetFile(models.Model):
    """A blob's Xet hash, known once it was sent that way."""

    hash = sha256_column(primary_key=True)
    blob = models.ForeignKey(Blob, models.CASCADE, related_name="xet_files")
