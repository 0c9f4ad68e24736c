"""Answers of the hub on builds, in the cache: each is stored under what decides it.

Numbers of cores and versions of runtimes decide nothing, so that what a login node asked serves the
compute nodes, too.
"""

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from hpcfair.cache import Cache
from hpcfair.digest import sha256_of_json
from hpcfair.paths import checked_name, is_commit


class CachedAnswer(NamedTuple):
    """An answer in the cache, and when the hub gave it (ISO 8601)."""

    answer: Mapping[str, Any]
    at: str


def request_of(hub: str, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the answer to a request for the best build; ``body`` is that of the request."""
    machine = {key: body["machine"][key] for key in ("architecture", "features")}
    decisive = {**body, "machine": machine, "runtimes": sorted(body["runtimes"])}
    return {"hub": hub, "name": checked_name(name), **decisive}


def keep(cache: Cache, request: Mapping[str, Any], answer: Any) -> None:
    """Keep an answer, if the cache can be written."""
    stored = {"at": _now(), "request": request, "answer": answer}
    cache.keep_answer(sha256_of_json(request), stored)


def keep_alone(cache: Cache, request: Mapping[str, Any], answer: Any) -> None:
    """Keep an answer that is on no build: without its request, it is in no search of builds."""
    cache.keep_answer(sha256_of_json(request), {"at": _now(), "answer": answer})


def find(cache: Cache, request: Mapping[str, Any]) -> CachedAnswer | None:
    """The last answer to the same request."""
    stored = cache.answer(sha256_of_json(request))
    return CachedAnswer(stored["answer"], stored["at"]) if stored else None


def find_pinned(cache: Cache, request: Mapping[str, Any]) -> CachedAnswer | None:
    """The last answer to a request for a commit id, if it names a build, or if the published model
    was requested: then the hub need not be asked again."""
    if not is_commit(request["revision"]):
        return None
    cached = find(cache, request)
    is_final = cached is not None and (cached.answer.get("build") or not request["runtimes"])
    return cached if is_final else None


def find_usable(cache: Cache, request: Mapping[str, Any]) -> CachedAnswer | None:
    """The last answer to the same request, else the one to a request of another machine whose build
    runs on this one, too; of several, that of the machine most like this one."""
    if same := find(cache, request):
        return same
    others = [stored for stored in cache.answers() if _fits(stored.get("request"), stored, request)]
    if not others:
        return None
    best = max(others, key=lambda each: (len(_features(each["request"])), each["at"]))
    return CachedAnswer(best["answer"], best["at"])


def _fits(other: Any, stored: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    if not isinstance(other, dict) or not _same(other, request):
        return False
    build = stored["answer"].get("build")
    runs = build is None or build["runtime"] in request["runtimes"]
    return runs and _features(other) <= _features(request)


def _same(other: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    """Whether two requests differ in nothing but what machine and runtimes there are."""
    flexible = {"machine", "runtimes"}
    kind = other["machine"]["architecture"] == request["machine"]["architecture"]
    # Without runtimes, the published model is requested.
    plain = bool(other["runtimes"]) == bool(request["runtimes"])
    keys = (other.keys() | request.keys()) - flexible
    return kind and plain and all(other.get(key) == request.get(key) for key in keys)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _features(request: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(request["machine"]["features"])
