"""Table of the best builds of models, for lists, filters and orders by speed."""

from django.db import models

from registry.scenarios import Scenario
from registry.states import ToleranceClass
from registry.tables.repository.mlmodel import MLModel
from registry.tables.results.build import Build
from registry.tables.work.target import Target


class BestBuild(models.Model):
    """The best build of a model on a target in a scenario within a tolerance class.

    It is of the primary network at the head of the default branch, by the rule of
    :mod:`hpcfair.choice`: the build that a machine of the target loads whose
    user accepts ``tolerance``. The build may be of a stricter class, and it is the baseline where
    nothing is proved faster.

    A cache: :func:`registry.services.results.best.best_builds_update` writes a model's rows from
    its builds. The columns from ``p50_ns`` on repeat those of the build; ``ratio`` is 1 of the
    baseline.
    """

    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="best_builds")
    target = models.ForeignKey(Target, models.CASCADE, related_name="best_builds")
    scenario = models.CharField(
        max_length=16,
        choices=Scenario.choices,
        default=Scenario.SINGLE_STREAM,
        # Processes of an earlier version write rows while a hub is upgraded.
        db_default=Scenario.SINGLE_STREAM,
    )
    tolerance = models.CharField(max_length=8, choices=ToleranceClass.choices)
    build = models.ForeignKey(Build, models.CASCADE, related_name="best_of")
    p50_ns = models.BigIntegerField()
    ratio = models.FloatField()
    throughput_per_s = models.FloatField(null=True)
    accuracy = models.FloatField(null=True)
    accuracy_reference = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["mlmodel", "target", "scenario", "tolerance"], name="best_build_unique"
            )
        ]
        indexes = [
            # The largest gains, of all targets and of one; baselines are left out.
            models.Index(
                fields=["scenario", "tolerance", "ratio", "id"],
                condition=models.Q(ratio__lt=1),
                name="best_build_gain",
            ),
            models.Index(
                fields=["target", "scenario", "tolerance", "ratio", "id"],
                condition=models.Q(ratio__lt=1),
                name="best_build_gain_of_target",
            ),
        ]
