"""Proof that somebody handed in bytes."""

from django.conf import settings
from django.db import models

from registry.tables.storage.blob import Blob


class Upload(models.Model):
    """A person possessed these bytes.

    A commit may name a blob only if its author uploaded it or may already read it elsewhere;
    otherwise knowing a digest would be enough to read somebody's private file.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="uploads")
    blob = models.ForeignKey(Blob, models.CASCADE, related_name="uploads")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "blob"], name="upload_unique")]
