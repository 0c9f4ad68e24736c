"""The audit log: actor, action, subject and time of each write."""

from django.conf import settings
from django.db import models


class AuditEntry(models.Model):
    """One write, recorded by the service that made it. Rows are appended, never changed."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    # Empty for the hub's own acts (workers, reaper).
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="audit_entries"
    )
    action = models.CharField(max_length=64)
    subject = models.CharField(max_length=300, db_index=True)
    namespace = models.CharField(max_length=96, blank=True, db_index=True)
    detail = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "audit entries"
