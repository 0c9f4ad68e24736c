"""Table of benchmark records."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from registry.ids import sha256_column
from registry.scenarios import Scenario
from registry.states import RecordKind, ToleranceClass, Verdict
from registry.tables.repository.revision import Revision
from registry.tables.trust.key import Signed
from registry.tables.work.device import Device
from registry.tables.work.job import Job
from registry.tables.work.target import Target


class Record(Signed):
    """An immutable document of schema ``hpcfair.bench/1``; its id is the SHA-256 of canonical JSON.

    The other columns copy values of the document, for queries. ``added_by`` is the account that
    sent a reproduction; records of jobs have none.
    """

    id = sha256_column(primary_key=True)
    document = models.JSONField()
    kind = models.CharField(max_length=16, choices=RecordKind.choices)
    revision = models.ForeignKey(Revision, models.CASCADE, related_name="records")
    target = models.ForeignKey(Target, models.PROTECT, related_name="records")
    device = models.ForeignKey(Device, models.SET_NULL, null=True, related_name="records")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="records")
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    scenario = models.CharField(
        max_length=16,
        choices=Scenario.choices,
        default=Scenario.SINGLE_STREAM,
        # Processes of an earlier version write rows while a hub is upgraded.
        db_default=Scenario.SINGLE_STREAM,
    )
    backend = models.CharField(max_length=32)
    tolerance = models.CharField(max_length=8, choices=ToleranceClass.choices)
    p50_ns = models.BigIntegerField()
    ratio = models.FloatField(null=True)
    ratio_low = models.FloatField(null=True)
    ratio_high = models.FloatField(null=True)
    verdict = models.CharField(max_length=8, choices=Verdict.choices, blank=True)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        indexes = [
            models.Index(fields=["revision", "target", "-created_at"], name="record_newest"),
            models.Index(fields=["device", "-created_at", "-id"], name="record_of_device"),
            models.Index(
                fields=["id"], condition=Q(signed_at__isnull=True), name="record_unsigned"
            ),
        ]
