"""Table of devices."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from registry.ids import sha256_column, uuid_column
from registry.states import DeviceHealth, DeviceState
from registry.tables.work.target import Target


class Device(models.Model):
    """One machine of a target.

    A worker of the hub registers itself, and has neither owner, token nor key. Any other machine is
    enrolled by a code: its agent signs in with a token, and signs results with its own key.

    ``facts`` are its description by ``hpcfair.machine.describe()``; ``tools`` map each of its
    backends to names and versions of the programs that run its builds. ``health`` shows whether it
    reports; ``state`` is set by people or the hub, for a ``reason``. ``is_trusted`` shows whether
    its results count.
    """

    uuid = uuid_column()
    name = models.CharField(max_length=200, unique=True)
    target = models.ForeignKey(Target, models.PROTECT, related_name="devices")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="devices"
    )
    facts = models.JSONField(default=dict)
    tools = models.JSONField(default=dict)
    agent_version = models.CharField(max_length=40, blank=True)
    is_emulated = models.BooleanField(default=False)

    # Digest of the token, and the Ed25519 key in PEM; empty for workers of the hub.
    token_hash = sha256_column(blank=True)
    public_key = models.TextField(blank=True)

    health = models.CharField(
        max_length=8, choices=DeviceHealth.choices, default=DeviceHealth.ONLINE
    )
    state = models.CharField(max_length=12, choices=DeviceState.choices, default=DeviceState.ACTIVE)
    reason = models.CharField(max_length=500, blank=True)
    state_at = models.DateTimeField(null=True)
    is_trusted = models.BooleanField(default=True)
    # Best builds of models with smaller keys may not reflect ``is_trusted`` yet; empty: all do.
    rerank_below = models.BigIntegerField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    # Time of the newest health check that it passed; seed of the one that it was sent.
    checked_at = models.DateTimeField(null=True)
    check_seed = models.PositiveIntegerField(null=True)
    # Number of newest attempts in a row that ended by a failure of the infrastructure.
    failures_in_row = models.PositiveIntegerField(default=0)
    # Builds of revisions with smaller keys may not have been run with its tools; empty: all have.
    recheck_below = models.BigIntegerField(null=True)
    # Total seconds of its attempts.
    run_s = models.FloatField(default=0.0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["token_hash"], condition=~Q(token_hash=""), name="device_token_unique"
            ),
            models.UniqueConstraint(
                fields=["public_key"], condition=~Q(public_key=""), name="device_key_unique"
            ),
        ]
        indexes = [models.Index(fields=["target", "state", "health"], name="device_of_target")]

    def __str__(self) -> str:
        return self.name


class DeviceCode(models.Model):
    """A one-time code by which a machine is enrolled as a device; only its digest is stored.

    ``target`` is empty if the target follows from the machine's facts. ``device`` is the machine
    that used the code.
    """

    digest = sha256_column(unique=True)
    target = models.ForeignKey(Target, models.CASCADE, null=True, related_name="codes")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="device_codes"
    )
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)
    device = models.ForeignKey(Device, models.SET_NULL, null=True, related_name="codes")
    created_at = models.DateTimeField(auto_now_add=True)
