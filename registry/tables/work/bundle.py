"""Table of job bundles."""

from django.conf import settings
from django.db import models

from registry.ids import sha256_column, uuid_column
from registry.states import BundleState
from registry.tables.storage.blob import Blob
from registry.tables.work.device import Device


class JobBundle(models.Model):
    """Jobs that were claimed for a device without a network, and their results.

    ``envelope`` is the signed manifest (:mod:`hpcfair.bundle`), whose job tickets are the only copy
    of the exported ones; the file is written from it at each download. ``answers`` are the answers
    to the reads of the jobs. ``results_sha256`` is the SHA-256 of the newest imported results, and
    ``report`` has the outcome of each job: ``[{"job", "outcome", "detail"}]``.
    """

    uuid = uuid_column()
    device = models.ForeignKey(Device, models.PROTECT, related_name="bundles")
    state = models.CharField(
        max_length=9, choices=BundleState.choices, default=BundleState.EXPORTED
    )
    envelope = models.JSONField(default=dict)
    answers = models.ForeignKey(Blob, models.PROTECT, related_name="+")
    # UUID of a job to the fence of its claim.
    claims = models.JSONField(default=dict)
    budget_s = models.FloatField()
    lease_until = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    imported_at = models.DateTimeField(null=True)
    results_sha256 = sha256_column(blank=True)
    report = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["-created_at"], name="bundle_newest")]

    def __str__(self) -> str:
        return str(self.uuid)
