"""Tables of operator workloads and trials of their schedules, shared by all models."""

from django.db import models

from registry.ids import sha256_column, uuid_column
from registry.states import TrialOutcome
from registry.tables.storage.blob import Blob
from registry.tables.work.job import Job
from registry.tables.work.target import Target


class ScheduleTask(models.Model):
    """An operator workload inside a compiler, such as a fused convolution of fixed shape.

    ``key`` is the SHA-256 of the workload's canonical form, so that models with the same operator
    share the row. ``anchor`` names its heaviest operator without shapes; workloads of the same
    anchor are compared by ``features``, a vector of numbers. ``toolchain`` is the compiler and its
    version; schedules are not portable between toolchains.
    """

    uuid = uuid_column()
    key = sha256_column()
    target = models.ForeignKey(Target, models.PROTECT, related_name="schedule_tasks")
    toolchain = models.CharField(max_length=64)
    name = models.CharField(max_length=200)
    anchor = models.CharField(max_length=64, db_index=True)
    # [{"dtype", "shape"}] of the arguments.
    arguments = models.JSONField(default=list)
    flops = models.FloatField()
    features = models.JSONField(default=list)
    # [{"name", "axes": [{"name", "kind", "extent"}], "consumers": [names]}] of the blocks, by which
    # decisions are named; empty for workloads of earlier versions.
    blocks = models.JSONField(default=list)
    # By which the compiler's own databases find it, and the target as the compiler takes it.
    structural_hash = models.CharField(max_length=32, blank=True)
    compiler_target = models.JSONField(default=dict)
    # The workload in the compiler's format, compressed.
    source = models.ForeignKey(Blob, models.PROTECT, related_name="schedule_tasks")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["key", "target", "toolchain"], name="schedule_task_unique"
            )
        ]


class ScheduleUse(models.Model):
    """Number of calls of a workload per run of a network."""

    task = models.ForeignKey(ScheduleTask, models.CASCADE, related_name="uses")
    graph_hash = sha256_column(db_index=True)
    calls = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "graph_hash"], name="schedule_use_unique")
        ]


class ScheduleSketch(models.Model):
    """The instructions of a schedule without its decisions; shared by many trials."""

    digest = sha256_column(unique=True)
    instructions = models.JSONField()


class ScheduleTrial(models.Model):
    """A schedule that was built and run once, with its decisions, prediction and measurement.

    ``predicted`` is the cost model's score before this trial (higher is faster). ``seconds`` are
    all raw times of one run; empty after a failure. A failure of the infrastructure is stored
    uncharged, and the schedule is tried again under another number.

    ``confirmed`` are raw times of a second measurement, in alternation with other candidates. The
    best schedule of a workload is chosen by these, because the first measurement is noisy.
    """

    uuid = uuid_column()
    task = models.ForeignKey(ScheduleTask, models.CASCADE, related_name="trials")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="schedule_trials")
    number = models.IntegerField()
    sketch = models.ForeignKey(ScheduleSketch, models.PROTECT, related_name="schedule_trials")
    decisions = models.JSONField(default=list)
    # SHA-256 of sketch and decisions: no schedule is tried twice.
    digest = sha256_column(db_index=True)
    proposed_by = models.CharField(max_length=32)
    predicted = models.FloatField(null=True)
    outcome = models.CharField(max_length=16, choices=TrialOutcome.choices)
    failure_detail = models.TextField(blank=True)
    seconds = models.JSONField(default=list)
    # Median of ``seconds``.
    median_s = models.FloatField(null=True)
    confirmed = models.JSONField(default=list)
    # Median of ``confirmed``, and when: the newest confirmed schedule of a workload is its best.
    confirmed_s = models.FloatField(null=True)
    confirmed_at = models.DateTimeField(null=True)
    # The whole schedule as the compiler applies it; only if confirmed.
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
