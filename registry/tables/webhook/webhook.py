"""Tables of webhooks, of the repositories they watch, and of their deliveries."""

from django.db import models
from django.db.models import Q

from registry.ids import uuid_column
from registry.states import DeliveryState
from registry.tables.people.account import Namespace, User
from registry.tables.repository.mlmodel import MLModel


class Webhook(models.Model):
    """A URL to which changes are reported; ``domains`` holds ``repo``, ``discussion`` or both."""

    uuid = uuid_column()
    user = models.ForeignKey(User, models.CASCADE, related_name="webhooks")
    url = models.URLField(max_length=2000)
    domains = models.JSONField(default=list)
    # Sent in clear text and used for signatures, so it cannot be hashed.
    secret = models.CharField(max_length=256, blank=True)
    is_enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)


class WebhookWatch(models.Model):
    """A subscription of a webhook: to one repository, or to all of a namespace."""

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
    """A message to a webhook, written in the transaction of the change that it reports.

    A claim increments ``attempts`` and moves ``not_before`` to its expiry. The end of an attempt
    names its number, so that a worker whose claim has expired changes nothing.
    """

    uuid = uuid_column()
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    # Decides whether the owner may still receive it; null once the repository is deleted, when
    # the next two columns decide.
    mlmodel = models.ForeignKey(MLModel, models.SET_NULL, null=True, related_name="+")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    is_private = models.BooleanField()
    payload = models.JSONField()
    state = models.CharField(
        max_length=10, choices=DeliveryState.choices, default=DeliveryState.WAITING
    )
    attempts = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField()
    # Result of the last attempt: an HTTP status, or the description of an error.
    status = models.PositiveIntegerField(null=True, blank=True)
    error = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True, db_index=True)

    class Meta:
        indexes = [
            models.Index(fields=["state", "not_before"], name="delivery_due"),
            models.Index(fields=["webhook", "-id"], name="delivery_of_webhook"),
        ]
