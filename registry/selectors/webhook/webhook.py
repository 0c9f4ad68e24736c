"""Reads of webhooks and their deliveries, for their owners."""

from django.db.models import Prefetch, Q, QuerySet

from registry.errors import Forbidden, NotFound
from registry.ids import parse_uuid
from registry.selectors.access import memberships, readable_repositories, require_scope
from registry.states import Scope
from registry.tables import User, Webhook, WebhookDelivery, WebhookWatch


def webhooks_of(actor: User) -> QuerySet[Webhook]:
    """The actor's webhooks with the repositories and namespaces that they watch, oldest first.

    Raises the errors of :func:`require_webhooks`.
    """
    require_webhooks(actor)
    # The owner must not learn names of repositories that they may no longer read.
    visible = Q(mlmodel=None) | Q(mlmodel__in=readable_repositories(actor))
    watches = WebhookWatch.objects.filter(visible).order_by("pk")
    prefetch = Prefetch("watches", watches.select_related("mlmodel__namespace", "namespace"))
    return actor.webhooks.select_related("user").prefetch_related(prefetch).order_by("pk")


def webhook_get(actor: User, webhook_uuid: object) -> Webhook:
    """One of the actor's webhooks.

    Raises the errors of :func:`require_webhooks`; ``NotFound``: ``webhook_not_found``, also for
    another user's.
    """
    webhook = webhooks_of(actor).filter(uuid=parse_uuid(webhook_uuid)).first()
    if webhook is None:
        raise NotFound("webhook_not_found", f"You have no webhook {str(webhook_uuid)[:40]!r}.")
    return webhook


def deliveries_of(webhook: Webhook) -> QuerySet[WebhookDelivery]:
    """Deliveries of a webhook, newest first; ended ones are stored for 30 days."""
    return webhook.deliveries.order_by("-pk")


def may_receive(delivery: WebhookDelivery) -> bool:
    """Whether the webhook's owner may read the delivery's repository now."""
    owner = delivery.webhook.user
    if not owner.is_active:
        return False
    if delivery.mlmodel_id is not None:
        return readable_repositories(owner).filter(pk=delivery.mlmodel_id).exists()
    if not delivery.is_private:
        return True
    return memberships(owner).filter(namespace=delivery.namespace_id).exists()


def require_webhooks(actor: User) -> None:
    """Check that the actor may manage webhooks, which report all that their owner may read.

    Raises ``Unauthenticated``: ``not_authenticated``; ``Forbidden``: ``scope_missing``, or
    ``permission_denied`` for a token of one namespace.
    """
    require_scope(actor, Scope.WRITE)
    if actor.token is not None and actor.token.namespace_id is not None:
        raise Forbidden(
            "permission_denied",
            "The token is limited to one namespace, and webhooks are not.",
            "Use a token without a namespace, or sign in.",
        )
