"""Keeps the cache below its budget: what was used least recently goes first.

Never removed are trees that the user pinned, and those used within the last day: without locks,
nobody knows whether a process still has them open.
"""

import time

from hpcfair import upkeep
from hpcfair.cache import Cache

_IN_USE_S = 86_400.0


def enforce(cache: Cache, budget_bytes: int) -> upkeep.Removed:
    """Remove the builds and revisions that were used least recently, until all files of the cache
    have at most ``budget_bytes`` or nothing is left that may be removed."""
    before = size_bytes = upkeep.size_bytes(cache)
    now, count = time.time(), 0
    for entry in reversed(upkeep.entries(cache)):
        if size_bytes <= budget_bytes:
            break
        if not entry.is_pinned and now - entry.used_at > _IN_USE_S:
            upkeep.remove(cache, entry)
            size_bytes = upkeep.size_bytes(cache)
            count += 1
    return upkeep.Removed(count, max(0, before - size_bytes))
