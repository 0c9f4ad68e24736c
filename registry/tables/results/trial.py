"""Table of trials."""

from django.db import models
from django.db.models import Q

from registry.ids import sha256_column, uuid_column
from registry.states import ToleranceClass, TrialOutcome
from registry.tables.work.job import Job
from registry.tables.work.target import Target


class Trial(models.Model):
    """A candidate that was built, checked and run once in a search.

    ``search_key`` is the SHA-256 over graph hash, target and toolchain; searches of the same key
    reuse each other's trials. Ratios are the candidate's latency over the baseline's, so below 1
    is faster. ``measurement`` holds the raw samples: ``{"blocks": [{"candidate_ns": [...],
    "baseline_ns": [...]}], ...}``.
    """

    uuid = uuid_column()
    job = models.ForeignKey(Job, models.CASCADE, related_name="trials")
    target = models.ForeignKey(Target, models.PROTECT, related_name="trials")
    search_key = sha256_column(db_index=True)
    number = models.IntegerField()
    config_sha256 = sha256_column()
    candidate = models.JSONField()
    proposed_by = models.CharField(max_length=32)
    predicted_ratio = models.FloatField(null=True)

    outcome = models.CharField(max_length=16, choices=TrialOutcome.choices)
    failure_detail = models.TextField(blank=True)
    tolerance = models.CharField(max_length=8, choices=ToleranceClass.choices, blank=True)
    ratio = models.FloatField(null=True)
    ratio_low = models.FloatField(null=True)
    ratio_high = models.FloatField(null=True)
    p50_ns = models.BigIntegerField(null=True)
    deviation = models.JSONField(default=dict)
    accuracy = models.FloatField(null=True)
    measurement = models.JSONField(default=dict)
    compile_s = models.FloatField(null=True)
    duration_s = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="trial_number_unique"),
            # A candidate may be tried again after a failure of the infrastructure.
            models.UniqueConstraint(
                fields=["job", "config_sha256"],
                condition=~Q(outcome=TrialOutcome.INFRASTRUCTURE),
                name="trial_config_unique",
            ),
        ]
