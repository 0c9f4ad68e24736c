"""Sends what waits for webhooks, several at a time, one to each webhook at a time."""

import hashlib
import hmac
import json
import logging
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from django.conf import settings

from registry.services.webhook.delivery import delivery_claim, delivery_end, delivery_sweep
from registry.tickets import DeliveryTicket
from workers.jobs.post import NotSent, post

logger = logging.getLogger(__name__)

#: For connecting, sending and the answer's head; far below a claim's length.
TIMEOUT_S = 10.0
_AT_ONCE = 8
# Then the task ends, so that others get a turn; beat or a notification starts the next one.
_ENOUGH_S = 60.0


def drain() -> int:
    """Send all that is due; returns how many attempts were made.

    Only this thread talks to the database.
    """
    enough = time.monotonic() + _ENOUGH_S
    flying: dict[Future[int], DeliveryTicket] = {}
    attempts = 0
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="webhook") as pool:
        while True:
            while len(flying) < _AT_ONCE and time.monotonic() < enough:
                ticket = delivery_claim(busy=[flown.webhook for flown in flying.values()])
                if ticket is None:
                    break
                flying[pool.submit(send, ticket)] = ticket
                attempts += 1
            if not flying:
                break
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                _end(flying.pop(future), future)
    delivery_sweep()
    return attempts


def send(ticket: DeliveryTicket) -> int:
    """The status that the webhook answers with.

    The body is signed as GitHub signs (``X-Hub-Signature-256``: HMAC-SHA256 with the secret), and
    the secret sent along as the Hugging Face Hub does.

    Raises:
        NotSent: see :func:`workers.jobs.post.post`.
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
        # One message that we fail on must not keep all others waiting.
        logger.exception("delivery %s failed", ticket.uuid)
        delivery_end(ticket=ticket, status=None, error="The hub failed; its log knows.")
