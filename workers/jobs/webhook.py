"""Sends queued webhook deliveries: several at once, but one per webhook."""

import hashlib
import hmac
import json
import logging
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from django.conf import settings

from registry.services.webhook.delivery import (
    DeliveryTicket,
    delivery_claim,
    delivery_end,
    delivery_sweep,
)
from workers.jobs.post import NotSent, post

logger = logging.getLogger(__name__)

#: Limit of connecting, sending and the response's head; much shorter than a claim.
TIMEOUT_S = 10.0
_AT_ONCE = 8
# Then the task ends, so that others get a turn; beat or a notification starts the next one.
_MAX_RUN_S = 60.0


def drain() -> int:
    """Send all due deliveries; returns the attempts. Only this thread uses the database."""
    deadline = time.monotonic() + _MAX_RUN_S
    in_flight: dict[Future[int], DeliveryTicket] = {}
    attempts = 0
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="webhook") as pool:
        while True:
            while len(in_flight) < _AT_ONCE and time.monotonic() < deadline:
                ticket = delivery_claim(busy=[delivery.webhook for delivery in in_flight.values()])
                if ticket is None:
                    break
                in_flight[pool.submit(send, ticket)] = ticket
                attempts += 1
            if not in_flight:
                break
            for future in wait(in_flight, return_when=FIRST_COMPLETED).done:
                _end(in_flight.pop(future), future)
    delivery_sweep()
    return attempts


def send(ticket: DeliveryTicket) -> int:
    """Send a delivery and return the HTTP status of the response.

    With a secret, the body is signed as by GitHub (``X-Hub-Signature-256``: HMAC-SHA256), and the
    secret is sent as by the Hugging Face Hub (``X-Webhook-Secret``). Raises NotSent as
    :func:`workers.jobs.post.post`.
    """
    body = json.dumps(ticket.payload).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "HPCFair-Webhook/1",
        "X-Webhook-Delivery": ticket.uuid,
        "X-Webhook-Attempt": str(ticket.attempt),
    }
    if ticket.secret:
        digest = hmac.new(ticket.secret.encode(), body, hashlib.sha256).hexdigest()
        headers["X-Webhook-Secret"] = ticket.secret
        headers["X-Hub-Signature-256"] = f"sha256={digest}"
    return post(
        ticket.url,
        body=body,
        headers=headers,
        timeout_s=TIMEOUT_S,
        private=settings.WEBHOOK_PRIVATE,
    )


def _end(ticket: DeliveryTicket, future: Future[int]) -> None:
    try:
        delivery_end(ticket=ticket, status=future.result())
    except NotSent as failure:
        delivery_end(ticket=ticket, status=None, error=str(failure))
    except Exception:
        # One broken message must not delay all others.
        logger.exception("delivery %s failed", ticket.uuid)
        delivery_end(ticket=ticket, status=None, error="The hub failed; its log knows.")
