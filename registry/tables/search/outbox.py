"""What the search index has yet to learn."""

from django.db import models


class OutboxEntry(models.Model):
    """This MLModel changed (or went). Each index remembers the last entry it has read."""

    mlmodel_uuid = models.UUIDField()
    at = models.DateTimeField(auto_now_add=True)
