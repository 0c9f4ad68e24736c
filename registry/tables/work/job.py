"""The database-backed job queue."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.ids import uuid_column
from registry.states import FailureClass, JobKind, JobState
from registry.tables.repository.revision import Revision
from registry.tables.work.device import Device
from registry.tables.work.target import Target


class Job(models.Model):
    """A job on one revision, for one target if its kind has one.

    ``fence`` is incremented by each claim; writes for a job name the current one, so that a worker
    that lost its lease without noticing changes nothing. ``attempt`` counts charged claims,
    ``yields`` claims given up for other jobs. ``progress`` is
    ``{"phase", "done", "total", "message"}`` for people.
    """

    uuid = uuid_column()
    kind = models.CharField(max_length=16, choices=JobKind.choices)
    revision = models.ForeignKey(Revision, models.CASCADE, related_name="jobs")
    target = models.ForeignKey(Target, models.PROTECT, null=True, related_name="jobs")
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    # Lower runs first.
    priority = models.IntegerField(default=100)
    parameters = models.JSONField(default=dict)

    attempt = models.IntegerField(default=0)
    max_attempts = models.IntegerField(default=3)
    fence = models.IntegerField(default=0)
    yields = models.IntegerField(default=0)
    device = models.ForeignKey(Device, models.SET_NULL, null=True, related_name="jobs")
    lease_until = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    cancel_requested = models.BooleanField(default=False)
    # Earliest time of the next claim, after a failure of the infrastructure.
    not_before = models.DateTimeField(null=True)
    # Time of the last wake-up notification; the reaper repeats it while the job stays queued.
    notified_at = models.DateTimeField(default=timezone.now)

    progress = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    failure_class = models.CharField(max_length=16, choices=FailureClass.choices, blank=True)
    failure_code = models.CharField(max_length=64, blank=True)
    failure_detail = models.TextField(blank=True)

    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="jobs"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            # At most one open job of a kind for a revision and target. Two constraints, because
            # SQLite does not treat two NULL targets as equal.
            models.UniqueConstraint(
                fields=["kind", "revision", "target"],
                condition=Q(state__in=[JobState.QUEUED, JobState.LEASED]),
                name="job_open_unique",
            ),
            models.UniqueConstraint(
                fields=["kind", "revision"],
                condition=Q(state__in=[JobState.QUEUED, JobState.LEASED], target__isnull=True),
                name="job_open_untargeted_unique",
            ),
            models.CheckConstraint(
                condition=~Q(state=JobState.LEASED)
                | Q(lease_until__isnull=False, device__isnull=False)
                | Q(lease_until__isnull=False, target__isnull=True),
                name="job_leased_has_lease",
            ),
        ]
        indexes = [
            models.Index(fields=["state", "priority", "id"], name="job_queue"),
            models.Index(fields=["state", "lease_until"], name="job_leases"),
            # Open jobs of a person, for the quota.
            models.Index(
                fields=["requested_by"],
                condition=Q(state__in=[JobState.QUEUED, JobState.LEASED]),
                name="job_open_of_person",
            ),
        ]


class JobEvent(models.Model):
    """A line of a job's log, for people."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    message = models.TextField()
