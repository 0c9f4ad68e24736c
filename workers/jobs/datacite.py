"""A client of DataCite's REST API for registering and updating DOIs.

Documentation: https://support.datacite.org/docs/api-create-dois, and .../docs/doi-states,
.../docs/api-error-codes, .../docs/rate-limit.
"""

import time
from collections.abc import Callable
from typing import Any, Self
from urllib.parse import quote

import httpx
from django.conf import settings

_MEDIA_TYPE = "application/vnd.api+json"
_TIMEOUT = httpx.Timeout(30.0, connect=10.0)
_ATTEMPTS = 3
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 20.0
#: Status codes of temporary failures.
_TEMPORARY = frozenset({429, 500, 502, 503, 504})
_OPERATORS = "The hub's operators must correct this:"
#: Advice by status code.
_ADVICE = {
    401: f"{_OPERATORS} HPCFAIR_DATACITE_ACCOUNT or HPCFAIR_DATACITE_PASSWORD is wrong.",
    403: f"{_OPERATORS} the account may not register DOIs of HPCFAIR_DATACITE_PREFIX.",
    404: f"{_OPERATORS} the account, its prefix or HPCFAIR_DATACITE_URL is wrong.",
    422: "Correct the card as it says, and request the DOI again.",
}


class DataCiteRefusal(Exception):
    """DataCite rejected a request; the text says why and what to do."""


class NotAnswered(Exception):
    """DataCite gave no answer or a temporary failure; a later request may succeed."""


class DataCite:
    """A session with the hub's account, whose password is in no message."""

    def __init__(self, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep
        contact = f"; mailto:{settings.PUBLISHER_EMAIL}" if settings.PUBLISHER_EMAIL else ""
        # Redirects are not followed: they would carry the account elsewhere.
        self._http = httpx.Client(
            base_url=settings.DATACITE_URL,
            auth=(settings.DATACITE_ACCOUNT, settings.DATACITE_PASSWORD),
            timeout=_TIMEOUT,
            headers={
                "Accept": _MEDIA_TYPE,
                "Content-Type": _MEDIA_TYPE,
                "User-Agent": f"HPCFair ({settings.HUB_URL}{contact})",
            },
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def put(self, doi: str, document: dict[str, Any]) -> None:
        """Create or change a DOI; idempotent. Temporary failures are retried twice, within minutes.

        Args:
            document: See :mod:`registry.fair.datacite.registration`.

        Raises:
            DataCiteRefusal: with DataCite's message.
            NotAnswered: all attempts failed temporarily.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            wait_s = _FIRST_WAIT_S * 2 ** (attempt - 1)
            try:
                answer = self._http.put(f"/dois/{quote(doi)}", json=document)
            except httpx.RequestError as error:
                failure = f"DataCite does not answer: {str(error) or type(error).__name__}."
            else:
                if answer.is_success:
                    return
                if answer.status_code not in _TEMPORARY:
                    raise DataCiteRefusal(_refusal(answer))
                failure = f"DataCite is unavailable ({answer.status_code})."
                wait_s = max(wait_s, _seconds(answer.headers.get("Retry-After", "")))
            if attempt < _ATTEMPTS:
                self._sleep(min(wait_s, _LONGEST_WAIT_S))
        raise NotAnswered(failure)


def _refusal(answer: httpx.Response) -> str:
    words = "; ".join(_errors(answer)) or answer.reason_phrase
    message = f"DataCite rejected the request ({answer.status_code}): {words[:500].rstrip('.')}."
    return f"{message} {_ADVICE.get(answer.status_code, '')}".rstrip()


def _errors(answer: httpx.Response) -> list[str]:
    """Messages of a JSON:API error document: ``title`` of each error, after its field if any."""
    try:
        errors = list(answer.json()["errors"])
    except (ValueError, KeyError, TypeError):
        return []
    messages = []
    for one in errors:
        if isinstance(one, dict) and one.get("title"):
            source = one.get("source")
            messages.append(f"{source}: {one['title']}" if source else str(one["title"]))
    return list(dict.fromkeys(messages))


def _seconds(retry_after: str) -> float:
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
