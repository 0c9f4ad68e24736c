"""Tables of candidates that took devices down."""

from django.db import models

from registry.ids import sha256_column
from registry.tables.work.device import Device
from registry.tables.work.target import Target


class CandidateCrash(models.Model):
    """A device of a target that fell silent while it tried a candidate."""

    target = models.ForeignKey(Target, models.CASCADE, related_name="crashes", db_index=False)
    config_sha256 = sha256_column()
    device = models.ForeignKey(Device, models.CASCADE, related_name="crashes")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["target", "config_sha256", "device"], name="crash_unique"
            )
        ]


class Ban(models.Model):
    """A candidate that is no longer tried on a target."""

    target = models.ForeignKey(Target, models.CASCADE, related_name="bans", db_index=False)
    config_sha256 = sha256_column()
    reason = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["target", "config_sha256"], name="ban_unique")
        ]
