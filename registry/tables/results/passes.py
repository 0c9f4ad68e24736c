"""Tables of pass trials and pass portfolios."""

from django.db import models

from registry.ids import sha256_column, uuid_column
from registry.states import ArchitectureClass, TrialOutcome
from registry.tables.work.job import Job
from registry.tables.work.target import Target


class PassTrial(models.Model):
    """A network compiled with a list of passes, beside the backend's default list.

    Ratios are of this list over the default list, interleaved; below 1 compiles or runs faster.
    ``role`` says why the list was tried; ``final`` is the confirmation run. The portfolio of a
    class is computed from all its trials.
    """

    uuid = uuid_column()
    job = models.ForeignKey(Job, models.CASCADE, related_name="pass_trials")
    target = models.ForeignKey(Target, models.PROTECT, related_name="pass_trials")
    backend = models.CharField(max_length=32)
    # Compiler and version; pass lists are not portable between toolchains.
    toolchain = models.CharField(max_length=64)
    architecture_class = models.CharField(max_length=24, choices=ArchitectureClass.choices)
    graph_hash = sha256_column(db_index=True)
    number = models.IntegerField()
    role = models.CharField(max_length=16)
    # The pass, or change of order, that an ablation tests.
    about = models.CharField(max_length=200, blank=True)
    # The value of the backend's option ``passes``.
    passes = models.TextField()
    outcome = models.CharField(max_length=16, choices=TrialOutcome.choices)
    failure_detail = models.TextField(blank=True)
    compile_s = models.FloatField(null=True)
    compile_ratio = models.FloatField(null=True)
    compile_ratio_low = models.FloatField(null=True)
    compile_ratio_high = models.FloatField(null=True)
    # 1 without an interval if both lists compile to the same code.
    ratio = models.FloatField(null=True)
    ratio_low = models.FloatField(null=True)
    ratio_high = models.FloatField(null=True)
    same_code = models.BooleanField(default=False)
    # Raw samples of both lists.
    measurement = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["target", "backend", "toolchain", "architecture_class"],
                name="pass_trial_class",
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["job", "backend", "number"], name="pass_trial_unique")
        ]


class PassPortfolio(models.Model):
    """A few lists of passes that together are best for a class of networks on a target.

    Computed from :class:`PassTrial` rows whenever some were added. ``lists`` are
    ``{"passes", "objective", "networks", "ratio"}``, best first: the number of networks that a list
    is best for, and its geometric mean ratio over all studied networks.
    """

    target = models.ForeignKey(Target, models.CASCADE, related_name="pass_portfolios")
    backend = models.CharField(max_length=32)
    toolchain = models.CharField(max_length=64)
    architecture_class = models.CharField(max_length=24, choices=ArchitectureClass.choices)
    networks = models.IntegerField()
    lists = models.JSONField(default=list)
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["target", "backend", "toolchain", "architecture_class"],
                name="pass_portfolio_unique",
            )
        ]
