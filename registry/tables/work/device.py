"""Table of devices."""

from django.db import models

from registry.ids import uuid_column
from registry.states import DeviceHealth
from registry.tables.work.target import Target


class Device(models.Model):
    """One machine of a target; ``facts`` is its description by ``hpcfair.machine.describe()``."""

    uuid = uuid_column()
    name = models.CharField(max_length=200, unique=True)
    target = models.ForeignKey(Target, models.PROTECT, related_name="devices")
    facts = models.JSONField(default=dict)
    health = models.CharField(
        max_length=8, choices=DeviceHealth.choices, default=DeviceHealth.ONLINE
    )
    last_seen_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name
