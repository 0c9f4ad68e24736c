"""HTTP requests to the hub: tokens, retries, timeouts, request ids and errors."""

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx

from hpcfair.config import Config
from hpcfair.connections import address_at, open_connections
from hpcfair.errors import Offline
from hpcfair.refusal import answer_of, broken, plain, refusal, unreachable
from hpcfair.retry import PASSING_STATUS, Retry
from hpcfair.typingnames import Self

#: Creates the body of a request, once per attempt.
Body = Callable[[], Iterable[bytes]]
Params = Mapping[str, str | int | float | None]

# Without a configuration of logging, warnings are printed on standard error.
_log = logging.getLogger("hpcfair")
#: Waits in seconds from which on the user is told.
_SILENT_S = 2.0
_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE"})


def quoted(path: str) -> str:
    """``path`` percent-encoded for a URL, with its slashes."""
    return quote(path, safe="/")


class Transport:
    """Requests to one hub. Thread-safe. ``transport`` and ``sleep`` are replaced in tests."""

    def __init__(
        self,
        config: Config,
        *,
        transport: httpx.BaseTransport | None = None,
        retry: Retry | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.config = config
        self._retry = retry or Retry()
        self._sleep = sleep
        self._http = open_connections(transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, params: Params | None = None) -> Any:
        """The JSON at ``path``."""
        return self.json("GET", path, params=params)

    def post(self, path: str, body: Any, *, idempotent: bool = False) -> Any:
        """The JSON response to ``body``; ``idempotent`` permits retries after a failure."""
        return self.json("POST", path, body=body, idempotent=idempotent)

    def json(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: Any = None,
        idempotent: bool = False,
    ) -> Any:
        """Send JSON and return JSON (``None`` for an empty response).

        Raises:
            HubError: the hub rejected the request; the class depends on its code.
            HubUnreachable: no answer, or not JSON.
        """
        with self.open(method, path, params=params, body=body, idempotent=idempotent) as response:
            response.read()
            return answer_of(response, self.config.url)

    def form(self, path: str, **fields: str) -> Any:
        """The JSON response to a form, as OAuth has them; raises as :meth:`json`."""
        body = urlencode(fields).encode()
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Content-Length": str(len(body)),
        }
        with self.open("POST", path, content=lambda: [body], headers=headers) as response:
            response.read()
            return answer_of(response, self.config.url)

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: Any = None,
        content: Body | None = None,
        headers: Mapping[str, str] | None = None,
        idempotent: bool = False,
        follow: bool = True,
    ) -> Iterator[httpx.Response]:
        """A successful response with an unread body.

        Connection errors and temporary failures are retried if repetition is harmless; status 429
        always, because the hub has then done nothing.

        Args:
            path: Path on the hub, or an absolute URL; the token is sent to the hub only.
            content: Creates the raw body; excludes ``body``.
            follow: Whether to follow redirects; otherwise the redirect is the response.

        Raises:
            HubError: the hub rejected the request.
            HubUnreachable: there was no answer.
        """
        if self.config.offline:
            raise Offline(
                f"{method} {path} needs the hub, and HPCFAIR_OFFLINE is set.",
                "Unset it, or use what `hpcfair cache list` shows.",
            )
        send = self._sender(method, path, params, body, content, headers, follow=follow)
        response = self._persist(send, repeatable=idempotent or method in _IDEMPOTENT)
        try:
            if response.status_code >= 400:
                raise refusal(response)
            yield response
        except httpx.RequestError as error:
            raise broken(self.config.url, error) from error
        finally:
            response.close()

    def _sender(
        self,
        method: str,
        path: str,
        params: Params | None,
        body: Any,
        content: Body | None,
        headers: Mapping[str, str] | None,
        *,
        follow: bool,
    ) -> Callable[[], httpx.Response]:
        url = address_at(self.config.url, path)
        query = {key: value for key, value in (params or {}).items() if value not in (None, "")}
        # One id for all attempts, so that the hub's log shows them as one request.
        named = {"X-Request-Id": uuid.uuid4().hex, **(headers or {})}
        if self.config.token and _origin(url) == _origin(self.config.url):
            named["Authorization"] = f"Bearer {self.config.token}"

        def send() -> httpx.Response:
            request = self._http.build_request(
                method,
                url,
                params=query or None,
                json=body,
                content=content() if content else None,
                headers=named,
            )
            return self._http.send(request, stream=True, follow_redirects=follow)

        return send

    def _persist(self, send: Callable[[], httpx.Response], *, repeatable: bool) -> httpx.Response:
        for attempt in range(1, self._retry.attempts + 1):
            last = attempt == self._retry.attempts
            try:
                response = send()
            except httpx.RequestError as error:
                if last or not repeatable:
                    raise unreachable(self.config.url, error) from error
                self._sleep(self._retry.wait_s(attempt))
                continue
            passing = response.status_code in PASSING_STATUS
            if last or not passing or not (repeatable or response.status_code == 429):
                return response
            wait_s = self._retry.wait_s(attempt, response.headers.get("Retry-After"))
            if wait_s > self._retry.patience_s:
                return response
            response.close()
            if wait_s >= _SILENT_S:
                _log.warning(
                    "%s answered %d; waiting %.0f s before attempt %d of %d",
                    plain(response.url),
                    response.status_code,
                    wait_s,
                    attempt + 1,
                    self._retry.attempts,
                )
            self._sleep(wait_s)
        raise AssertionError("Retry.attempts is at least 1")


def pages(http: Transport, path: str, params: Params | None = None) -> Iterator[Any]:
    """All items of a keyset-paginated list; pages are requested on demand."""
    cursor: str | None = None
    while True:
        page = http.get(path, {**(params or {}), "cursor": cursor})
        yield from page["items"]
        cursor = page.get("next")
        if not cursor:
            return


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or default
