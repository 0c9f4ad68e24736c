"""Tables of the blobs that devices send for their jobs."""

from django.db import models

from registry.ids import sha256_column
from registry.tables.storage.blob import Blob
from registry.tables.work.job import Job


class JobBlob(models.Model):
    """Proof that a device possessed a blob's bytes while it worked on a job.

    Results of the job may name only blobs that were sent for it or that its device may read.
    Otherwise, knowing a digest would be enough to read a private file.
    """

    job = models.ForeignKey(Job, models.CASCADE, related_name="blobs", db_index=False)
    blob = models.ForeignKey(Blob, models.CASCADE, related_name="jobs")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "blob"], name="job_blob_unique")]


class JobUpload(models.Model):
    """An incomplete upload of a blob in parts.

    ``key``, ``size_bytes`` and ``part_bytes`` are those of
    :class:`registry.storage.base.PartUpload`; ``etags`` maps the numbers of the parts that arrived
    to their ETags.
    """

    job = models.ForeignKey(Job, models.CASCADE, related_name="uploads", db_index=False)
    sha256 = sha256_column()
    key = models.CharField(max_length=2000)
    size_bytes = models.BigIntegerField()
    part_bytes = models.BigIntegerField()
    etags = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "sha256"], name="job_upload_unique")]
