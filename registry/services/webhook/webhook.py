"""Creating, changing and deleting webhooks, and replaying deliveries."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from registry.dispatch import notify_deliveries
from registry.errors import Conflict, Invalid, NotFound
from registry.ids import parse_uuid
from registry.selectors.people.account import namespace_get
from registry.selectors.repository.mlmodel import repository_get
from registry.selectors.webhook.webhook import require_webhooks
from registry.services.audit import audit
from registry.states import DeliveryState, NamespaceKind, RepositoryKind
from registry.tables import User, Webhook, WebhookDelivery, WebhookWatch
from registry.validation.url import check_url

DOMAINS = ("repo", "discussion")
MAX_WEBHOOKS = 50
MAX_WATCHED = 100
MAX_SECRET = 256

_REPOSITORIES = {"model": RepositoryKind.MODEL, "dataset": RepositoryKind.DATASET}
_NAMESPACES = {"user": NamespaceKind.USER, "org": NamespaceKind.ORGANISATION}


def webhook_create(
    *,
    actor: User,
    url: str,
    watched: Sequence[Mapping[str, Any]],
    domains: Sequence[str] = DOMAINS,
    secret: str = "",
) -> Webhook:
    """Create a webhook.

    Args:
        watched: ``{"type": "model" | "dataset" | "user" | "org", "name": ...}`` each. A user or an
            organisation stands for all its repositories that the actor may read at the time.
        domains: ``repo``, ``discussion`` or both.
        secret: Sent in ``X-Webhook-Secret``, and the key of ``X-Hub-Signature-256``.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.webhook.webhook.require_webhooks`.
        NotFound: ``model_not_found``, ``dataset_not_found`` or ``namespace_not_found``.
        Conflict: ``webhook_limit``.
        Invalid: ``invalid_url`` or ``invalid_request``.
    """
    require_webhooks(actor)
    webhook = Webhook(user=actor)
    _set(webhook, url=url, domains=domains, secret=secret)
    watches = _watches(actor, watched)
    if not watches:
        raise _invalid("watched", "must not be empty")
    with transaction.atomic():
        # Locked, so that concurrent requests cannot exceed the limit.
        User.objects.select_for_update(no_key=True).get(pk=actor.pk)
        if actor.webhooks.count() >= MAX_WEBHOOKS:
            raise Conflict(
                "webhook_limit", f"You have {MAX_WEBHOOKS} webhooks.", "Delete one first."
            )
        webhook.save(force_insert=True)
        _watch(webhook, watches)
        _audit(webhook, "webhook.create")
    return webhook


def webhook_update(
    *,
    actor: User,
    webhook: Webhook,
    url: str | None = None,
    watched: Sequence[Mapping[str, Any]] | None = None,
    domains: Sequence[str] | None = None,
    secret: str | None = None,
) -> Webhook:
    """Change the values that are not ``None``; queued deliveries go to the new URL.

    Raises the errors of :func:`webhook_create`.
    """
    _require_own(actor, webhook)
    _set(webhook, url=url, domains=domains, secret=secret)
    watches = _watches(actor, watched) if watched is not None else None
    if watches is not None and not watches:
        raise _invalid("watched", "must not be empty")
    with transaction.atomic():
        webhook.save(update_fields=["url", "domains", "secret"])
        if watches is not None:
            webhook.watches.all().delete()
            _watch(webhook, watches)
        _audit(webhook, "webhook.update")
    return webhook


def webhook_enable(*, actor: User, webhook: Webhook, enabled: bool) -> Webhook:
    """Enable or disable a webhook; disabling it drops its queued deliveries.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.webhook.webhook.require_webhooks`.
        NotFound: ``webhook_not_found`` for another user's.
    """
    _require_own(actor, webhook)
    with transaction.atomic():
        webhook.is_enabled = enabled
        webhook.save(update_fields=["is_enabled"])
        if not enabled:
            webhook.deliveries.filter(state=DeliveryState.WAITING).update(
                state=DeliveryState.FAILED,
                error="The webhook was disabled.",
                ended_at=timezone.now(),
            )
        _audit(webhook, "webhook.enable" if enabled else "webhook.disable")
    return webhook


def webhook_delete(*, actor: User, webhook: Webhook) -> None:
    """Delete a webhook with its history.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.webhook.webhook.require_webhooks`.
        NotFound: ``webhook_not_found`` for another user's.
    """
    _require_own(actor, webhook)
    with transaction.atomic():
        _audit(webhook, "webhook.delete")
        webhook.delete()


def delivery_replay(*, actor: User, webhook: Webhook, delivery_uuid: object) -> WebhookDelivery:
    """Queue a copy of a delivery that has ended.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.webhook.webhook.require_webhooks`.
        NotFound: ``webhook_not_found`` for another user's; ``delivery_not_found``, also if its
            payload was removed because the owner may no longer read it.
        Invalid: ``invalid_request`` if the webhook is disabled or the delivery has not ended.
    """
    _require_own(actor, webhook)
    old = webhook.deliveries.filter(uuid=parse_uuid(delivery_uuid)).first()
    if old is None or not old.payload:
        raise NotFound("delivery_not_found", f"There is no delivery {str(delivery_uuid)[:40]!r}.")
    if not webhook.is_enabled or old.state == DeliveryState.WAITING:
        raise Invalid(
            "invalid_request",
            "The webhook is disabled, or the delivery has not ended.",
            "Enable the webhook, or wait for the end of the delivery.",
        )
    with transaction.atomic():
        new = WebhookDelivery.objects.create(
            webhook=webhook,
            mlmodel_id=old.mlmodel_id,
            namespace_id=old.namespace_id,
            is_private=old.is_private,
            payload=old.payload,
            not_before=timezone.now(),
        )
        _audit(webhook, "webhook.replay", {"delivery": str(old.uuid)})
        notify_deliveries()
    return new


def _require_own(actor: User, webhook: Webhook) -> None:
    require_webhooks(actor)
    if webhook.user_id != actor.pk:
        raise NotFound("webhook_not_found", f"You have no webhook {webhook.uuid}.")


def _set(
    webhook: Webhook, *, url: str | None, domains: Sequence[str] | None, secret: str | None
) -> None:
    if url is not None:
        webhook.url = check_url(url, private=settings.WEBHOOK_PRIVATE)
    if domains is not None:
        if not domains or any(domain not in DOMAINS for domain in domains):
            raise _invalid("domains", f"must be from {' and '.join(DOMAINS)}")
        webhook.domains = [domain for domain in DOMAINS if domain in domains]
    if secret is not None:
        # Sent as a header.
        if not (secret.isascii() and secret.isprintable() and len(secret) <= MAX_SECRET):
            raise _invalid("secret", f"must be at most {MAX_SECRET} printable ASCII characters")
        webhook.secret = secret


def _watches(actor: User, watched: Sequence[Mapping[str, Any]]) -> list[WebhookWatch]:
    """Unsaved rows for ``watched``, without duplicates."""
    if len(watched) > MAX_WATCHED:
        raise _invalid("watched", f"must have at most {MAX_WATCHED} items")
    watches: dict[tuple[int | None, int | None], WebhookWatch] = {}
    for item in watched:
        kind, name = item.get("type"), item.get("name")
        if not (isinstance(kind, str) and isinstance(name, str)):
            raise _invalid("watched", "must have items with a type and a name")
        watch = WebhookWatch()
        if kind in _REPOSITORIES:
            watch.mlmodel = repository_get(actor, _REPOSITORIES[kind], name)
        elif kind in _NAMESPACES:
            namespace = namespace_get(actor, name)
            if namespace.kind != _NAMESPACES[kind]:
                raise NotFound("namespace_not_found", f"There is no {kind} {name[:100]!r}.")
            watch.namespace = namespace
        else:
            raise _invalid("watched", "must have items of the types model, dataset, user and org")
        watches[watch.mlmodel_id, watch.namespace_id] = watch
    return list(watches.values())


def _watch(webhook: Webhook, watches: list[WebhookWatch]) -> None:
    for watch in watches:
        watch.webhook = webhook
    WebhookWatch.objects.bulk_create(watches)


def _invalid(field: str, fault: str) -> Invalid:
    return Invalid("invalid_request", f"{field!r} {fault}.", fields={field: fault})


def _audit(webhook: Webhook, action: str, detail: dict[str, Any] | None = None) -> None:
    # Not the secret, and not the URL, which may contain one.
    audit(webhook.user, action, str(webhook.uuid), namespace=webhook.user.username, detail=detail)
