"""Table of remote runs: builds that run on a device with a person's inputs."""

from django.conf import settings
from django.db import models

from registry.tables.results.build import Build
from registry.tables.storage.blob import Blob
from registry.tables.work.job import Job


class RemoteRun(models.Model):
    """A run of a network on a device of a target, with inputs of the person who requested it.

    Only ``owner`` may see the run, its job and its bytes. ``inputs`` and ``outputs`` are ``.npz``
    archives: ``outputs`` is empty until the run has succeeded, both are empty after a deletion.

    ``build`` is empty if the published network runs under the defaults of its runtime; ``reason``
    says in words why this build was selected. ``arrays`` maps each input to ``{"dtype", "shape"}``.
    ``report`` has times and deviation, as in ``registry/schemas/remote-run.json``. ``limit_s`` are
    the seconds that the run may take on a device.
    """

    job = models.OneToOneField(Job, models.CASCADE, related_name="run")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="runs")
    build = models.ForeignKey(Build, models.SET_NULL, null=True, related_name="runs")
    reason = models.TextField(blank=True)
    inputs = models.ForeignKey(Blob, models.PROTECT, null=True, related_name="inputs_of_runs")
    outputs = models.ForeignKey(Blob, models.PROTECT, null=True, related_name="outputs_of_runs")
    arrays = models.JSONField(default=dict)
    report = models.JSONField(default=dict)
    limit_s = models.FloatField()
    # The run, its job and its bytes are deleted after this time.
    expires_at = models.DateTimeField(db_index=True)
