"""Liveness and readiness probes: for supervisors, load balancers and operators."""

import tempfile
from collections.abc import Callable

import redis
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from registry.search import index
from registry.storage import blob_store

_TIMEOUT_S = 2.0


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001
    """Liveness: this process answers."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001
    """Readiness: database, storage and broker answer, and the search index is complete.

    Where it is missing, this starts to build it, so that a host is filled before it is used.

    ``{"status": "ok" | "failing", "checks": {part: "ok" | name of the exception's class}}`` with
    status 200 or 503. Errors have no further details, because this address is public.
    """
    report = {part: _outcome(check) for part, check in PARTS.items()}
    failing = any(outcome != "ok" for outcome in report.values())
    status = "failing" if failing else "ok"
    return JsonResponse({"status": status, "checks": report}, status=503 if failing else 200)


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _storage() -> None:
    with tempfile.TemporaryFile(dir=settings.DATA_DIR) as file:
        file.write(b"ready?")
        file.flush()
    # Reaches the bucket, if the store is one.
    blob_store().exists("0" * 64)


def _broker() -> None:
    # Celery and redis-py write socket addresses differently.
    url = settings.REDIS_URL.replace("redis+socket://", "unix://", 1)
    with redis.Redis.from_url(
        url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S
    ) as client:
        client.ping()


PARTS: dict[str, Callable[[], None]] = {
    "database": _database,
    "storage": _storage,
    "broker": _broker,
    "index": index.check,
}


def _outcome(check: Callable[[], None]) -> str:
    try:
        check()
    except Exception as error:  # noqa: BLE001 - any exception is the outcome
        return type(error).__name__
    return "ok"
