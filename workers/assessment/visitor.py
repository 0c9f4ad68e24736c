"""An anonymous HTTP client that is restricted to a few hosts.

URLs come from users' records, so requests go only to the hub's own host and a few that its
addresses lead to, and responses are read up to a bound.
"""

import hashlib
import logging
import re
import ssl
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

import httpx

from registry.fair.score.harvest import Answer

logger = logging.getLogger(__name__)

Read = TypeVar("Read")

#: Upper bound on bytes read of a response. Cards have at most 1 MiB, so no page reaches it.
MOST_BYTES = 16 * 2**20
_MOST_REDIRECTS = 5
_TIMEOUT_S = 30.0
_AGENT = "HPCFair-Assessor/1"
_CONTENT_RANGE = re.compile(r"bytes \d+-\d+/(\d+)")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Visit:
    """An answer: headers of the last response, and at most :data:`MOST_BYTES` of its body."""

    answer: Answer
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    body: bytes = b""

    @property
    def link(self) -> str:
        """The ``Link`` header; several are joined, as by RFC 9110."""
        return ", ".join(self.headers.get_list("Link"))


class Visitor:
    """An anonymous client of one hub.

    Args:
        inside: URL to which requests for the hub are sent, if workers cannot reach the public one.
        elsewhere: URLs whose hosts may be contacted as well.
        check: Called before each request and while reading; its exceptions end the visit.
    """

    def __init__(
        self,
        hub: str,
        *,
        inside: str = "",
        elsewhere: Collection[str] = (),
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._hosts = {origin for each in (hub, *elsewhere) if (origin := origin_of(each))}
        self._check = check
        transport: httpx.BaseTransport = httpx.HTTPTransport(verify=ssl.create_default_context())
        if inside:
            transport = _Inside(origin_of(hub), httpx.URL(inside), transport)
        self._client = httpx.Client(
            transport=transport,
            timeout=_TIMEOUT_S,
            headers={
                "User-Agent": f"{_AGENT} (+{hub}/fair)",
                # Lengths and digests are of uncompressed bytes.
                "Accept-Encoding": "identity",
            },
        )

    def __enter__(self) -> "Visitor":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def may_visit(self, url: str) -> bool:
        """Whether the host of ``url`` may be contacted."""
        return origin_of(url) in self._hosts

    def read(self, url: str, accept: str = "*/*") -> Visit:
        """``GET`` with redirects, and the body up to :data:`MOST_BYTES`."""
        return self._go("GET", url, {"Accept": accept}, self._body)

    def head(self, url: str) -> Visit:
        """``HEAD`` with redirects."""
        return self._go("HEAD", url, {}, lambda _: b"")

    def count(self, url: str, claimed_bytes: int) -> tuple[int, str] | None:
        """Size of a file and SHA-256 of the received bytes; ``None`` if the download fails.

        Only the last ``claimed_bytes`` are requested, because a request from the first byte would
        count as a download. Reading stops after one chunk more than these.
        """
        received: list[tuple[int, str]] = []

        def counted(response: httpx.Response) -> bytes:
            if response.is_success:
                received.append(self._counted(response, claimed_bytes))
            return b""

        headers = {"Range": f"bytes=-{claimed_bytes}"} if claimed_bytes else {}
        self._go("GET", url, headers, counted)
        return received[0] if received else None

    def _go(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        read: Callable[[httpx.Response], bytes],
    ) -> Visit:
        statuses: list[int] = []
        at, media_type, response_headers = url, "", httpx.Headers()
        body = b""
        try:
            # A redirect to a host that may not be contacted is not followed.
            while len(statuses) <= _MOST_REDIRECTS and self.may_visit(at):
                self._check()
                with self._client.stream(method, at, headers=headers) as response:
                    response_headers = response.headers
                    media_type = _plain(response_headers.get("Content-Type", ""))
                    if not response.has_redirect_location:
                        body = read(response)
                        statuses.append(response.status_code)
                        break
                    statuses.append(response.status_code)
                    at = urljoin(at, response_headers["Location"])
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            logger.info("%s %s: %s", method, at, error)
            return Visit(Answer(url=url, statuses=tuple(statuses), final=at))
        answer = Answer(url=url, statuses=tuple(statuses), final=at, media_type=media_type)
        return Visit(answer, response_headers, body)

    def _body(self, response: httpx.Response) -> bytes:
        data = bytearray()
        for chunk in response.iter_raw():
            self._check()
            data += chunk
            if len(data) >= MOST_BYTES:
                break
        return bytes(data[:MOST_BYTES])

    def _counted(self, response: httpx.Response, claimed_bytes: int) -> tuple[int, str]:
        digest, count = hashlib.sha256(), 0
        for chunk in response.iter_raw():
            self._check()
            digest.update(chunk)
            count += len(chunk)
            if count > claimed_bytes:
                break
        whole = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        return (int(whole[1]) if whole else count), digest.hexdigest()


class _Inside(httpx.BaseTransport):
    """Sends requests for the hub to its inside address, with the headers of its public one."""

    def __init__(self, outside: str, inside: httpx.URL, transport: httpx.BaseTransport) -> None:
        self._outside = outside
        self._inside = inside
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if origin_of(str(request.url)) != self._outside:
            return self._transport.handle_request(request)
        inside = self._inside
        url = request.url.copy_with(scheme=inside.scheme, host=inside.host, port=inside.port)
        # The headers name the public host.
        redirected = httpx.Request(
            request.method,
            url,
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return self._transport.handle_request(redirected)

    def close(self) -> None:
        self._transport.close()


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL; "" if it is invalid or contains credentials."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return ""
    if not (port and parts.hostname) or "@" in parts.netloc:
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}"


def _plain(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
