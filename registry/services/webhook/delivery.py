"""The queue of webhook deliveries: claims, results and the deletion of old deliveries.

A database-backed queue, as for jobs. A claim is a filtered UPDATE that moves ``not_before`` to its
expiry: only one of two workers matches the row, and after a crash the delivery is claimed again.
So deliveries arrive at least once, and carry an id by which receivers discard duplicates.
"""

import random
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone

from registry.selectors.webhook.webhook import may_receive
from registry.states import DeliveryState
from registry.tables import WebhookDelivery

MAX_ATTEMPTS = 8
#: Longer than any attempt, see ``workers/jobs/webhook.py``.
CLAIM_S = 120
_FIRST_WAIT_S = 10.0
_LONGEST_WAIT_S = 6 * 3600.0
_RETENTION = timedelta(days=30)
_SWEEP_BATCH = 1000


@dataclass(frozen=True, slots=True)
class DeliveryTicket:
    """A claimed delivery to a webhook.

    ``uuid`` identifies the delivery in all its attempts; ``attempt`` counts from 1 and is named at
    its end; ``webhook`` is a key; ``secret``, which may be empty, is sent as a header and used for
    the signature.
    """

    uuid: str
    attempt: int
    webhook: int
    url: str
    secret: str
    payload: dict[str, Any]


def delivery_claim(*, busy: Collection[int] = ()) -> DeliveryTicket | None:
    """Claim the delivery that is due longest; ``None`` if none is due.

    ``busy`` are keys of webhooks to skip, so that a slow receiver does not delay the others.
    """
    while True:
        now = timezone.now()
        due = WebhookDelivery.objects.filter(
            state=DeliveryState.WAITING, not_before__lte=now, webhook__is_enabled=True
        )
        rows = due.exclude(webhook__in=list(busy)).order_by("not_before", "pk")
        delivery = rows.select_related("webhook__user").first()
        if delivery is None:
            return None
        row = WebhookDelivery.objects.filter(
            pk=delivery.pk, state=DeliveryState.WAITING, attempts=delivery.attempts
        )
        if not may_receive(delivery):
            # The payload is removed from the history as well.
            error = "The webhook's owner may no longer read this."
            row.update(state=DeliveryState.FAILED, payload={}, error=error, ended_at=now)
        elif delivery.attempts >= MAX_ATTEMPTS:
            error = "The hub was interrupted too often."
            row.update(state=DeliveryState.FAILED, error=error, ended_at=now)
        elif row.update(attempts=F("attempts") + 1, not_before=now + timedelta(seconds=CLAIM_S)):
            hook = delivery.webhook
            return DeliveryTicket(
                uuid=str(delivery.uuid),
                attempt=delivery.attempts + 1,
                webhook=hook.pk,
                url=hook.url,
                secret=hook.secret,
                payload=delivery.payload,
            )


def delivery_end(*, ticket: DeliveryTicket, status: int | None, error: str = "") -> bool:
    """Store the result of an attempt; schedule the next unless it succeeded or was the last.

    ``status`` is the HTTP status, of which 200 to 299 mean success; ``None`` without a response,
    with the failure in ``error``. Returns whether the claim was still valid.
    """
    now = timezone.now()
    changes: dict[str, object] = {"status": status, "error": error[:500]}
    if status is not None and 200 <= status <= 299:
        changes |= {"state": DeliveryState.DELIVERED, "ended_at": now}
    elif ticket.attempt >= MAX_ATTEMPTS:
        changes |= {"state": DeliveryState.FAILED, "ended_at": now}
    else:
        changes["not_before"] = now + timedelta(seconds=wait_s(ticket.attempt))
    row = WebhookDelivery.objects.filter(
        uuid=ticket.uuid, attempts=ticket.attempt, state=DeliveryState.WAITING
    )
    return bool(row.update(**changes))


def wait_s(attempt: int) -> float:
    """Seconds between ``attempt`` and the next one: 10 s, multiplied by 4 each, at most 6 h.

    Varied at random by up to half, so that deliveries that failed together are spread out.
    """
    wait = min(_FIRST_WAIT_S * 4.0 ** (attempt - 1), _LONGEST_WAIT_S)
    return wait * random.uniform(0.5, 1.5)  # noqa: S311


def delivery_sweep() -> int:
    """Delete a batch of the deliveries that ended over 30 days ago; returns their number."""
    old = WebhookDelivery.objects.filter(ended_at__lt=timezone.now() - _RETENTION)
    keys = list(old.order_by("ended_at").values_list("pk", flat=True)[:_SWEEP_BATCH])
    return WebhookDelivery.objects.filter(pk__in=keys).delete()[0]
