"""Who wants to be told of changes, and what they are still to be told."""

from django.db import models

from registry.ids import uuid_column
from registry.states import DeliveryState
from registry.tables.account import User


class Webhook(models.Model):
    """An address that wants to hear of changes.

    ``watched`` is a list of ``{"type": "model" | "dataset" | "user" | "org", "name": ...}``,
    ``domains`` one of ``repo`` and ``discussion``, as in the Hugging Face protocol.
    """

    uuid = uuid_column()
    user = models.ForeignKey(User, models.CASCADE, related_name="webhooks")
    url = models.URLField(max_length=2000)
    watched = models.JSONField(default=list)
    domains = models.JSONField(default=list)
    # Sent along in clear and used to sign, so it has to be kept as it is.
    secret = models.CharField(max_length=256, blank=True)
    is_enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)


class WebhookDelivery(models.Model):
    """One message to one webhook, written in the transaction of what it tells about."""

    uuid = uuid_column()
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    payload = models.JSONField()
    state = models.CharField(
        max_length=10, choices=DeliveryState.choices, default=DeliveryState.WAITING
    )
    attempts = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField()
    # What the last attempt met: an HTTP status, or an error in words.
    status = models.PositiveIntegerField(null=True, blank=True)
    error = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["state", "not_before"], name="delivery_due")]
