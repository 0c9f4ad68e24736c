"""Queues of jobs, and the flows between which they are shared fairly."""

from django.conf import settings
from django.db import models
from django.db.models import Q


class JobQueue(models.Model):
    """The queue of a target, ``target.<slug>``, or of a kind of the hub's jobs, ``hub.<kind>``."""

    name = models.CharField(max_length=80, unique=True)
    # Time of the last repeated wake-up notification.
    notified_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class JobFlow(models.Model):
    """The jobs of one account at one priority level of a queue; see :mod:`registry.fairshare`.

    The flow without an account holds the common tag of new accounts, and the jobs of models whose
    accounts are gone.
    """

    queue = models.ForeignKey(JobQueue, models.CASCADE, related_name="flows")
    level = models.SmallIntegerField()
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="flows"
    )
    # Virtual time at which its next job begins, with the handicap of its level.
    due_s = models.FloatField(default=0.0)
    # Virtual time at which its last job began, without the handicap.
    served_s = models.FloatField(default=0.0)
    # True while a job of it is queued. Idle flows may be marked; a claim that finds one idle
    # removes the mark.
    is_waiting = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["queue", "level", "account"], name="flow_unique"),
            # SQL does not treat two NULL accounts as equal.
            models.UniqueConstraint(
                fields=["queue", "level"],
                condition=Q(account__isnull=True),
                name="flow_common_unique",
            ),
        ]
        indexes = [
            models.Index(
                fields=["queue", "due_s", "id"], condition=Q(is_waiting=True), name="flow_waiting"
            ),
            models.Index(fields=["queue", "served_s"], name="flow_served"),
        ]
