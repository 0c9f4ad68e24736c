"""Operator workloads and how they were scheduled: one memory for all models."""

from django.db import models

from registry.ids import sha256_column, uuid_column
from registry.states import TrialOutcome
from registry.tables.storage.blob import Blob
from registry.tables.work.job import Job
from registry.tables.work.target import Target


class ScheduleTask(models.Model):
    """An operator workload inside a compiler, such as a fused convolution of fixed shape.

    ``key`` is the SHA-256 of the workload's canonical form, so models that share an operator share
    the task. ``anchor`` names its heaviest operator without shapes, by which similar workloads are
    found; ``features`` are numbers that tell how similar. ``toolchain`` is the compiler and its
    version, since schedules of one mean nothing to another.
    """

    uuid = uuid_column()
    key = sha256_column()
    target = models.ForeignKey(Target, models.PROTECT, related_name="schedule_tasks")
    toolchain = models.CharField(max_length=64)
    name = models.CharField(max_length=200)
    anchor = models.CharField(max_length=64, db_index=True)
    # [{"dtype", "shape"}] of its arguments.
    arguments = models.JSONField(default=list)
    flops = models.FloatField()
    features = models.JSONField(default=list)
    # The workload as the compiler reads it again, compressed.
    source = models.ForeignKey(Blob, models.PROTECT, related_name="schedule_tasks")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["key", "target", "toolchain"], name="schedule_task_unique"
            )
        ]


class ScheduleUse(models.Model):
    """A network calls a workload ``calls`` times a run."""

    task = models.ForeignKey(ScheduleTask, models.CASCADE, related_name="uses")
    graph_hash = sha256_column(db_index=True)
    calls = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "graph_hash"], name="schedule_use_unique")
        ]


class ScheduleSketch(models.Model):
    """The instructions of a schedule without its decisions: many trials share few of them."""

    digest = sha256_column(unique=True)
    instructions = models.JSONField()


class ScheduleTrial(models.Model):
    """A schedule built and run once: its decisions, what was predicted, what was measured.

    ``predicted`` is the cost model's score before it learnt from this trial (higher is faster).
    ``seconds`` are all raw times of one run; empty after a failure. A failure of the
    infrastructure is kept, charged to nobody, and tried again under another number.

    ``confirmed`` are raw times of the second measurement, in turn with its rivals, by which the
    best of a workload is chosen: the first one picks wrong winners by noise.
    """

    uuid = uuid_column()
    task = models.ForeignKey(ScheduleTask, models.CASCADE, related_name="trials")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="schedule_trials")
    number = models.IntegerField()
    sketch = models.ForeignKey(ScheduleSketch, models.PROTECT, related_name="schedule_trials")
    decisions = models.JSONField(default=list)
    # Of sketch and decisions: the same schedule is never paid for twice.
    digest = sha256_column(db_index=True)
    proposed_by = models.CharField(max_length=32)
    predicted = models.FloatField(null=True)
    outcome = models.CharField(max_length=16, choices=TrialOutcome.choices)
    failure_detail = models.TextField(blank=True)
    seconds = models.JSONField(default=list)
    # Median of ``seconds``.
    median_s = models.FloatField(null=True)
    confirmed = models.JSONField(default=list)
    # Median of ``confirmed``, and when that was: of one workload, the newest is its best.
    confirmed_s = models.FloatField(null=True)
    confirmed_at = models.DateTimeField(null=True)
    # The whole schedule, ready to be applied; of those confirmed only.
    trace = models.JSONField(null=True)
    duration_s = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["task", "median_s"], name="schedule_trial_best"),
            models.Index(fields=["task", "confirmed_at"], name="schedule_trial_confirmed"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="schedule_trial_number")
        ]
