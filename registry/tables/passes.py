"""Which compiler passes a network needs."""

from django.db import models

from registry.ids import sha256_column, uuid_column
from registry.states import ArchitectureClass, TrialOutcome
from registry.tables.job import Job
from registry.tables.target import Target


class PassTrial(models.Model):
    """A network compiled with a list of passes, beside the backend's default list.

    Ratios are of this list over the default one, interleaved: below 1 compiles or runs faster.
    What serves a class of networks is found from all its trials.
    """

    uuid = uuid_column()
    job = models.ForeignKey(Job, models.CASCADE, related_name="pass_trials")
    target = models.ForeignKey(Target, models.PROTECT, related_name="pass_trials")
    backend = models.CharField(max_length=32)
    toolchain = models.CharField(max_length=64)
    architecture_class = models.CharField(max_length=24, choices=ArchitectureClass.choices)
    graph_hash = sha256_column(db_index=True)
    number = models.IntegerField()
    # The value of the backend's option ``passes``.
    passes = models.CharField(max_length=1000)
    outcome = models.CharField(max_length=16, choices=TrialOutcome.choices)
    failure_detail = models.TextField(blank=True)
    compile_ratio = models.FloatField(null=True)
    compile_ratio_low = models.FloatField(null=True)
    compile_ratio_high = models.FloatField(null=True)
    ratio = models.FloatField(null=True)
    ratio_low = models.FloatField(null=True)
    ratio_high = models.FloatField(null=True)
    measurement = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["target", "backend", "architecture_class"], name="pass_trial_class"
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="pass_trial_number_unique")
        ]
