"""Table of attempts at jobs: device, duration and end of each claim."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from registry.states import AttemptEnd, FailureClass
from registry.tables.work.device import Device
from registry.tables.work.job import Job
from registry.tables.work.target import Target


class JobAttempt(models.Model):
    """One claim of a job, from the lease to its end.

    Target, account and level are copied from the job, so that waits and utilisation are computed
    from this table alone.
    """

    job = models.ForeignKey(Job, models.CASCADE, related_name="attempts", db_index=False)
    fence = models.IntegerField()
    # Empty for jobs that the hub's own workers do.
    device = models.ForeignKey(
        Device, models.SET_NULL, null=True, related_name="attempts", db_index=False
    )
    target = models.ForeignKey(
        Target, models.PROTECT, null=True, related_name="attempts", db_index=False
    )
    # The account that is charged for it.
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="attempts"
    )
    # Index in ``registry.fairshare.LEVELS``.
    level = models.SmallIntegerField()
    # Seconds from the moment at which the job could be claimed to this claim.
    wait_s = models.FloatField()
    started_at = models.DateTimeField()
    # Empty while the attempt runs.
    ended_at = models.DateTimeField(null=True)
    end = models.CharField(max_length=10, choices=AttemptEnd.choices, blank=True)
    failure_class = models.CharField(max_length=16, choices=FailureClass.choices, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "fence"], name="attempt_unique"),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, end="") | Q(ended_at__isnull=False) & ~Q(end=""),
                name="attempt_end_has_time",
            ),
        ]
        indexes = [
            # Windows of time; running attempts have no end.
            models.Index(fields=["ended_at"], name="attempt_by_end"),
            models.Index(fields=["target", "ended_at"], name="attempt_of_target"),
            models.Index(fields=["device", "ended_at"], name="attempt_of_device"),
            # Lists, newest first.
            models.Index(fields=["device", "-id"], name="attempt_newest"),
            models.Index(
                fields=["ended_at"],
                condition=Q(end__in=[AttemptEnd.FAILED, AttemptEnd.LOST]),
                name="attempt_failures",
            ),
        ]
