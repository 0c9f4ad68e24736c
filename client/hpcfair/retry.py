"""Retries of requests with exponential backoff."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

#: Statuses of temporary failures.
PASSING_STATUS = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential backoff with full jitter, so that clients do not retry in lockstep.

    Attributes:
        attempts: Maximum number of requests, including the first.
        base_s: Upper bound of the first wait in seconds; it doubles with each attempt.
        cap_s: Upper bound of the waits in seconds that the hub does not request.
        patience_s: Upper bound in seconds of a requested wait; longer ones end the attempts.
        jitter: Returns a random number from [0, 1).
    """

    attempts: int = 4
    base_s: float = 0.3
    cap_s: float = 20.0
    patience_s: float = 300.0
    jitter: Callable[[], float] = random.random

    def wait_s(self, attempt: int, retry_after: str | None = None) -> float:
        """Seconds to wait after failed attempt number ``attempt`` (from 1). ``retry_after`` is the
        value of that header, in seconds or as a date; it is a lower bound."""
        backoff = self.jitter() * min(self.cap_s, self.base_s * 2.0 ** (attempt - 1))
        requested_s = _seconds(retry_after)
        # Clients that were refused together must not return together.
        spread_s = self.jitter() * min(self.cap_s, requested_s / 4)
        return max(backoff, requested_s + spread_s)


def _seconds(retry_after: str | None) -> float:
    """The header's value in seconds from now; 0 if absent, past or malformed (RFC 9110)."""
    if not retry_after:
        return 0.0
    if retry_after.strip().isdigit():
        return float(retry_after)
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
