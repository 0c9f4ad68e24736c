"""Sending what waits for webhooks: claims, ends and the sweep of old messages.

A database-backed queue, as for jobs. A claim is a filtered UPDATE that moves ``not_before`` to when
the claim runs out: of two workers one finds the row, and after a crash somebody finds it again.
So a message arrives at least once, and carries its id for those who mind getting it twice.
"""

import random
from collections.abc import Collection
from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from registry.selectors.webhook.webhook import may_hear
from registry.states import DeliveryState
from registry.tables import WebhookDelivery
from registry.tickets import DeliveryTicket

MAX_ATTEMPTS = 8
#: Longer than any attempt takes, see ``workers/jobs/webhook.py``.
CLAIM_S = 120
_FIRST_WAIT_S = 10.0
_LONGEST_WAIT_S = 6 * 3600.0
_KEPT = timedelta(days=30)
_SWEPT_AT_ONCE = 1000


def delivery_claim(*, busy: Collection[int] = ()) -> DeliveryTicket | None:
    """Take the message that waits longest; ``None`` if none is due.

    Args:
        busy: Keys of webhooks to leave alone: a slow one should not hold up all others.
    """
    while True:
        now = timezone.now()
        due = WebhookDelivery.objects.filter(
            state=DeliveryState.WAITING, not_before__lte=now, webhook__is_enabled=True
        )
        rows = due.exclude(webhook__in=list(busy)).order_by("not_before", "pk")
        found = rows.select_related("webhook__user").first()
        if found is None:
            return None
        mine = WebhookDelivery.objects.filter(
            pk=found.pk, state=DeliveryState.WAITING, attempts=found.attempts
        )
        if not may_hear(found):
            # What it would have said is not for the history either.
            error = "The webhook's owner may no longer read this."
            mine.update(state=DeliveryState.FAILED, payload={}, error=error, ended_at=now)
        elif found.attempts >= MAX_ATTEMPTS:
            error = "The hub was interrupted too often."
            mine.update(state=DeliveryState.FAILED, error=error, ended_at=now)
        elif mine.update(attempts=F("attempts") + 1, not_before=now + timedelta(seconds=CLAIM_S)):
            hook = found.webhook
            return DeliveryTicket(
                uuid=str(found.uuid),
                attempt=found.attempts + 1,
                webhook=hook.pk,
                url=hook.url,
                secret=hook.secret,
                payload=found.payload,
            )


def delivery_end(*, ticket: DeliveryTicket, status: int | None, error: str = "") -> bool:
    """Note what an attempt met; wait and try again unless it was taken or was the last.

    Args:
        status: The HTTP status, any of 200 to 299 of which means taken; ``None`` if none came.
        error: In words, where there is no status.

    Returns:
        Whether the claim still held.
    """
    now = timezone.now()
    changes: dict[str, object] = {"status": status, "error": error[:500]}
    if status is not None and 200 <= status <= 299:
        changes |= {"state": DeliveryState.DELIVERED, "ended_at": now}
    elif ticket.attempt >= MAX_ATTEMPTS:
        changes |= {"state": DeliveryState.FAILED, "ended_at": now}
    else:
        changes["not_before"] = now + timedelta(seconds=wait_s(ticket.attempt))
    mine = WebhookDelivery.objects.filter(
        uuid=ticket.uuid, attempts=ticket.attempt, state=DeliveryState.WAITING
    )
    return bool(mine.update(**changes))


def wait_s(attempt: int) -> float:
    """Seconds until the attempt after ``attempt``: 10 s, times 4 each, at most 6 h, give or take
    half, so that what failed together does not come again together."""
    wait = min(_FIRST_WAIT_S * 4.0 ** (attempt - 1), _LONGEST_WAIT_S)
    return wait * random.uniform(0.5, 1.5)  # noqa: S311


def delivery_sweep() -> int:
    """Delete some of the messages that ended more than a month ago; returns how many."""
    old = WebhookDelivery.objects.filter(ended_at__lt=timezone.now() - _KEPT)
    keys = list(old.order_by("pk").values_list("pk", flat=True)[:_SWEPT_AT_ONCE])
    return WebhookDelivery.objects.filter(pk__in=keys).delete()[0]
