"""Table of changes that search indexes follow."""

from django.db import models


class OutboxEntry(models.Model):
    """A change or deletion of an MLModel. Each index stores the last entry that it has read."""

    mlmodel_uuid = models.UUIDField()
    at = models.DateTimeField(auto_now_add=True)
