"""Who wants to be told of changes, and what they are still to be told."""

from django.db import models
from django.db.models import Q

from registry.ids import uuid_column
from registry.states import DeliveryState
from registry.tables.people.account import Namespace, User
from registry.tables.repository.mlmodel import MLModel


class Webhook(models.Model):
    """An address that wants to hear of changes.

    ``domains`` holds ``repo``, ``discussion`` or both, as in the Hugging Face protocol.
    """

    uuid = uuid_column()
    user = models.ForeignKey(User, models.CASCADE, related_name="webhooks")
    url = models.URLField(max_length=2000)
    domains = models.JSONField(default=list)
    # Sent along in clear and used to sign, so it has to be kept as it is.
    secret = models.CharField(max_length=256, blank=True)
    is_enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)


class WebhookWatch(models.Model):
    """What a webhook wants to hear of: one MLModel, or all of a namespace."""

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="watches")
    mlmodel = models.ForeignKey(MLModel, models.CASCADE, null=True, related_name="watches")
    namespace = models.ForeignKey(Namespace, models.CASCADE, null=True, related_name="watches")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(mlmodel=None, namespace__isnull=False)
                | Q(mlmodel__isnull=False, namespace=None),
                name="watch_is_of_one",
            )
        ]


class WebhookDelivery(models.Model):
    """One message to one webhook, written in the transaction of what it tells about.

    Who claims one adds to ``attempts`` and moves ``not_before`` to when the claim runs out; who
    ends an attempt names its number, so that one that lost its claim changes nothing.
    """

    uuid = uuid_column()
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    # Whoever may not read this when it is sent does not get it; empty once it was deleted, and
    # then the other two decide.
    mlmodel = models.ForeignKey(MLModel, models.SET_NULL, null=True, related_name="+")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    is_private = models.BooleanField()
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
    ended_at = models.DateTimeField(null=True, blank=True, db_index=True)

    class Meta:
        indexes = [models.Index(fields=["state", "not_before"], name="delivery_due")]
