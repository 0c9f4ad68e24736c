"""Token buckets, shared by all web processes through the broker.

The generic cell rate algorithm (ITU-T I.371) stores one number per bucket: the time at which it
will be full again. A bucket of ``quota`` requests per ``window_s`` seconds permits a burst of
``quota`` at once, and refills evenly. One script call reads and changes it atomically.

While the broker does not answer, each process counts for itself, with the same limits. Requests are
then still limited, by as many times the quota as there are processes.
"""

import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.retry import Retry

#: Seconds that a request waits for the broker, and for which it is not asked again after a failure.
TIMEOUT_S = 0.25
RETRY_S = 5.0
#: Upper bound on buckets of a process; the least recently used are forgotten, that is, full.
MOST_LOCAL = 50_000
_ROUNDING_S = 1e-6

# The server's clock, so that hosts need not agree. Times in milliseconds.
_SCRIPT = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local quota, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now) + window / quota
if full - now > window then
    return {0, 0, math.ceil(full - now - window)}
end
redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', math.ceil(full - now) + 1)
return {1, math.floor((window - (full - now)) * quota / window + 0.001), math.ceil(full - now)}
"""


@dataclass(frozen=True, slots=True)
class BucketState:
    """A bucket after a request.

    Attributes:
        allowed: Whether the request was counted.
        remaining: Requests that are allowed at once after it.
        reset_s: If refused, seconds until one is allowed; else until the bucket is full.
    """

    allowed: bool
    remaining: int
    reset_s: float


def take(key: str, *, quota: int, window_s: int) -> BucketState:
    """Take one request from the bucket ``key``."""
    now = time.monotonic()
    if now >= _broker.resume_at:
        try:
            allowed, remaining, reset_ms = _script(settings.REDIS_URL)(
                keys=[f"hpcfair:limit:{key}"], args=[quota, window_s * 1000]
            )
        except redis.RedisError:
            _broker.resume_at = now + RETRY_S
        else:
            return BucketState(bool(allowed), remaining, reset_ms / 1000)
    return _local.take(key, quota, window_s, now)


class _Local:
    """Buckets of this process. Thread-safe."""

    def __init__(self) -> None:
        self._full_at: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str, quota: int, window_s: int, now: float) -> BucketState:
        with self._lock:
            full_at = max(self._full_at.pop(key, now), now) + window_s / quota
            # Rounding must not refuse the last request of a quota.
            if full_at - now > window_s + _ROUNDING_S:
                self._full_at[key] = full_at - window_s / quota
                return BucketState(allowed=False, remaining=0, reset_s=full_at - now - window_s)
            self._full_at[key] = full_at
            if len(self._full_at) > MOST_LOCAL:
                self._full_at.popitem(last=False)
        left = (window_s - (full_at - now)) * quota / window_s
        return BucketState(allowed=True, remaining=math.floor(left + 0.001), reset_s=full_at - now)


@dataclass
class _Broker:
    """``resume_at``: monotonic time before which the broker is not asked."""

    resume_at: float = 0.0


_local = _Local()
_broker = _Broker()


@cache
def _script(url: str) -> Script:
    client = redis.Redis.from_url(
        # Celery and redis-py write socket addresses differently.
        url.replace("redis+socket://", "unix://", 1),
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        # By default the client sleeps and repeats, during which a thread would wait.
        retry=Retry(NoBackoff(), 0),
    )
    return client.register_script(_SCRIPT)
