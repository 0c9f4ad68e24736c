"""Tables for matching jobs with devices, and for ordering background jobs."""

from django.db import models

from registry.states import ArchitectureClass
from registry.tables.work.target import Target


class JobRequirement(models.Model):
    """The demands of jobs on a device, beyond those of their target.

    Its numbers are rounded up to a few steps, so that many jobs share a requirement, and a claim
    compares a device with few rows. ``tools`` are backends, ``seconds`` the expected duration.
    """

    key = models.CharField(max_length=300, unique=True)
    tools = models.JSONField(default=list)
    memory_bytes = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0.0)


class StudyStatistic(models.Model):
    """How often background jobs of a kind improved networks of an architecture class on a target.

    A job counts as ``improved`` if it led to a new search.
    """

    target = models.ForeignKey(Target, models.CASCADE, related_name="studies")
    kind = models.CharField(max_length=16)
    architecture_class = models.CharField(max_length=24, choices=ArchitectureClass.choices)
    ended = models.PositiveIntegerField(default=0)
    improved = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["target", "kind", "architecture_class"], name="study_unique"
            )
        ]
