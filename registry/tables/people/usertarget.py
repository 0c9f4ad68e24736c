"""Table of the targets that people's machines belong to."""

from django.conf import settings
from django.db import models

from registry.tables.work.target import Target


class UserTarget(models.Model):
    """A target that a machine belongs to from which a person loaded a model.

    Nothing else of the machine is stored. Pages show the builds of the newest one first.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="machine_targets"
    )
    target = models.ForeignKey(Target, models.CASCADE, related_name="users")
    # Of the newest load, to the day.
    used_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "target"], name="user_target_unique")
        ]
