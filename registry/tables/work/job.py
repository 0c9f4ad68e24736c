"""The database-backed job queue."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.ids import sha256_column, uuid_column
from registry.states import WORKLOAD_JOBS, FailureClass, JobKind, JobState
from registry.tables.repository.revision import Revision
from registry.tables.work.device import Device
from registry.tables.work.queue import JobFlow
from registry.tables.work.requirement import JobRequirement
from registry.tables.work.target import Target

_QUEUED = Q(state=JobState.QUEUED)


class Job(models.Model):
    """A job on one revision, for one target if its kind has one.

    ``fence`` is incremented by each claim; writes for a job name the current one, so that a worker
    that lost its lease without noticing changes nothing. ``attempt`` counts charged claims,
    ``yields`` claims given up for other jobs. ``progress`` is
    ``{"phase", "done", "total", "message", "used_s", "budget_s", "at"}`` for people: ``used_s`` are
    the seconds that the phase had used of its budget at the time ``at`` (ISO 8601).
    """

    uuid = uuid_column()
    kind = models.CharField(max_length=16, choices=JobKind.choices)
    revision = models.ForeignKey(Revision, models.CASCADE, related_name="jobs")
    target = models.ForeignKey(Target, models.PROTECT, null=True, related_name="jobs")
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    # Lower runs first: decides the level of the flow, and the rank within it.
    priority = models.IntegerField(default=100)
    parameters = models.JSONField(default=dict)

    # Empty only for jobs that were queued by an older version, or whose account was deleted: the
    # reaper assigns them.
    flow = models.ForeignKey(JobFlow, models.SET_NULL, null=True, related_name="jobs")
    queue_rank = models.FloatField(default=0.0)
    # Seconds that a claim charges to the flow, until the end of the attempt tells the real ones.
    estimate_s = models.FloatField(default=0.0)
    # Empty for jobs of the hub, and for jobs that every device of their target can do.
    requirement = models.ForeignKey(
        JobRequirement, models.SET_NULL, null=True, related_name="jobs", db_index=False
    )

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
    # Time of its wake-up notification; a minute later the reaper repeats those of its queue.
    notified_at = models.DateTimeField(default=timezone.now)

    # When the current attempt began after fetching its files: only the time from then on counts
    # against the time limit.
    running_since = models.DateTimeField(null=True)
    # The candidate that the current attempt tries; suspected if the device falls silent.
    candidate = sha256_column(blank=True)

    # Encrypted by registry.services.work.secret; erased by the transition that ends the job.
    secret = models.TextField(blank=True)

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
            # At most one open job of a kind for a revision and target, except runs, which differ
            # by their inputs, and jobs on workloads. Two constraints, because SQLite does not treat
            # two NULLs as equal.
            models.UniqueConstraint(
                fields=["kind", "revision", "target"],
                condition=Q(state__in=[JobState.QUEUED, JobState.LEASED])
                & ~Q(kind__in=[JobKind.RUN, *sorted(WORKLOAD_JOBS)]),
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
            models.Index(fields=["flow", "queue_rank", "id"], condition=_QUEUED, name="job_flow"),
            models.Index(
                fields=["target", "notified_at", "id"], condition=_QUEUED, name="job_notified"
            ),
            models.Index(
                fields=["kind", "notified_at", "id"],
                condition=_QUEUED & Q(target__isnull=True),
                name="job_notified_hub",
            ),
            models.Index(
                fields=["id"], condition=_QUEUED & Q(flow__isnull=True), name="job_flowless"
            ),
            models.Index(
                fields=["lease_until"], condition=Q(state=JobState.LEASED), name="job_leases"
            ),
            models.Index(
                fields=["running_since"], condition=Q(state=JobState.LEASED), name="job_running"
            ),
            # Jobs that devices hold.
            models.Index(
                fields=["device", "target"], condition=Q(state=JobState.LEASED), name="job_held"
            ),
            # Lists, newest first.
            models.Index(fields=["state", "-id"], name="job_by_state"),
            models.Index(fields=["kind", "-id"], name="job_by_kind"),
            models.Index(fields=["target", "-id"], name="job_by_target"),
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
