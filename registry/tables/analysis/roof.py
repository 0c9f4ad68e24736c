"""Tables of roofs: the speeds that a device was measured to sustain."""

from django.db import models
from django.db.models import Q

from registry.ids import sha256_column, uuid_column
from registry.tables.work.device import Device
from registry.tables.work.job import Job


class RoofSet(models.Model):
    """One measurement of all roofs of a device with one set of tools.

    ``tools`` are those of :class:`registry.tables.Device` at that time, ``tools_sha256`` their
    digest: a device is measured again when they change, or when others disturbed it. ``notes`` say
    why a roof is missing.
    """

    uuid = uuid_column()
    device = models.ForeignKey(Device, models.CASCADE, related_name="roof_sets")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="roof_sets")
    tools = models.JSONField(default=dict)
    tools_sha256 = sha256_column()
    # The newest description of the machine, by ``hpcfair.machine.describe()``.
    facts = models.JSONField(default=dict)
    is_emulated = models.BooleanField(default=False)
    notes = models.JSONField(default=list)
    # Seconds that the measurement took, by the device's clock.
    took_s = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["device", "-id"], name="roof_set_of_device")]


class Roof(models.Model):
    """A speed that a device sustains: arithmetic in a precision, or traffic of a level of memory.

    Exactly one of ``precision`` (such as ``bfloat16``) and ``level`` (``L2``, ``L3``, ``memory``)
    is set. ``per_second`` are operations or bytes: the median of the best round that nothing
    disturbed. A multiply-accumulate counts as two operations. ``low`` and ``high`` are the medians
    of the slowest and the fastest such round.

    ``rounds`` are ``[{"samples_ns", "is_disturbed"}]``, ``work`` the operations or bytes of each
    sample. ``shape`` describes what was run: ``size`` and ``layers`` of a chain of products of
    square matrices, or ``bytes`` of each array and ``repeats`` of a triad, and ``arrays`` that it
    reads or writes.
    """

    roof_set = models.ForeignKey(RoofSet, models.CASCADE, related_name="roofs")
    precision = models.CharField(max_length=16, blank=True)
    level = models.CharField(max_length=16, blank=True)
    per_second = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    work = models.FloatField()
    shape = models.JSONField(default=dict)
    rounds = models.JSONField(default=list)
    is_disturbed = models.BooleanField(default=False)
    # Backend of a roof of arithmetic; the method in words.
    backend = models.CharField(max_length=32, blank=True)
    method = models.CharField(max_length=300)
    threads = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["roof_set", "precision", "level"], name="roof_of_set_unique"
            ),
            models.CheckConstraint(
                condition=Q(precision="", level__gt="") | Q(precision__gt="", level=""),
                name="roof_precision_or_level",
            ),
        ]
