"""Tables of builds, the artefacts published for targets."""

from django.db import models
from django.db.models import Q

from registry.ids import sha256_column, uuid_column
from registry.scenarios import Scenario
from registry.states import ToleranceClass, Verdict
from registry.tables.results.graph import Graph
from registry.tables.results.record import Record
from registry.tables.storage.blob import Blob
from registry.tables.trust.key import Signed
from registry.tables.work.job import Job
from registry.tables.work.target import Target


class Build(Signed):
    """The artefact of a candidate that passed its checks.

    ``hpcfair.runtimes`` loads the build's files with ``runtime`` and ``runtime_options``;
    ``provenance`` names the inputs and the tools that made them. The baseline build is the
    published network under the runtime's defaults.

    ``ratio``, ``verdict`` and ``p50_ns`` are of the ``scenario``: one candidate may have a build in
    each.
    """

    uuid = uuid_column()
    graph = models.ForeignKey(Graph, models.CASCADE, related_name="builds")
    target = models.ForeignKey(Target, models.PROTECT, related_name="builds")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="builds")
    config_sha256 = sha256_column()
    candidate = models.JSONField()
    runtime = models.CharField(max_length=32)
    runtime_options = models.JSONField(default=dict)
    # Path of the file that the runtime opens.
    entry_point = models.CharField(max_length=1024)
    tolerance = models.CharField(max_length=8, choices=ToleranceClass.choices)
    is_baseline = models.BooleanField(default=False)
    scenario = models.CharField(
        max_length=16,
        choices=Scenario.choices,
        default=Scenario.SINGLE_STREAM,
        # Processes of an earlier version write rows while a hub is upgraded.
        db_default=Scenario.SINGLE_STREAM,
    )
    # Of a build for many samples: see hpcfair.scenarios.Execution.
    execution = models.JSONField(null=True)
    throughput_per_s = models.FloatField(null=True)
    # Set by a newer search; a withdrawn build stays readable.
    withdrawn_at = models.DateTimeField(null=True)

    record = models.ForeignKey(Record, models.RESTRICT, related_name="builds")
    ratio = models.FloatField()
    verdict = models.CharField(max_length=8, choices=Verdict.choices)
    p50_ns = models.BigIntegerField()
    deviation = models.JSONField(default=dict)
    accuracy = models.FloatField(null=True)
    accuracy_reference = models.FloatField(null=True)
    provenance = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["graph", "target", "scenario", "config_sha256"],
                condition=Q(withdrawn_at__isnull=True),
                name="build_config_unique",
            )
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(signed_at__isnull=True), name="build_unsigned")
        ]

    @property
    def relative_error(self) -> float | None:
        """As of :class:`hpcfair.outputlimits.BuildFacts`."""
        error: float | None = self.deviation.get("relative_l2")
        return error


class BuildFile(models.Model):
    """One file of a build."""

    build = models.ForeignKey(Build, models.CASCADE, related_name="files")
    path = models.CharField(max_length=1024)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="build_files")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["build", "path"], name="build_file_path_unique")
        ]
