"""Candidates that were tried."""

from django.db import models
from django.db.models import Q

from registry.ids import sha256_column, uuid_column
from registry.states import ToleranceClass, TrialOutcome
from registry.tables.work.job import Job
from registry.tables.work.target import Target


class Trial(models.Model):
    """A candidate built, checked and run once in a search.

    ``search_key`` is the SHA-256 over graph hash, target and toolchain: all trials of one key may
    teach each other. Ratios are latency of the candidate over latency of the baseline, so below 1
    is faster. ``measurement`` keeps the raw samples: ``{"blocks": [{"candidate_ns": [...],
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
            # A failed rig says nothing about a candidate, so the same one may come again.
            models.UniqueConstraint(
                fields=["job", "config_sha256"],
                condition=~Q(outcome=TrialOutcome.INFRASTRUCTURE),
                name="trial_config_unique",
            ),
        ]
