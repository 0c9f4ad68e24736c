"""Asks for addresses as an anonymous client does, and only for those it is safe to ask for.

What is asked for stands in records that strangers wrote. So nothing is sent to a host that is not
the hub's own, or one of the few its addresses lead to; no answer is read beyond a bound; and
nothing is believed before it came.
"""

import hashlib
import logging
import re
import ssl
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from types import TracebackType
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

import httpx

from registry.fair.score.harvest import Answer

logger = logging.getLogger(__name__)

Read = TypeVar("Read")

#: Longer than any page or metadata of the hub: a card has 1 MiB at most. What is longer is cut.
MOST_BYTES = 16 * 2**20
_MOST_REDIRECTS = 5
_TIMEOUT_S = 30.0
_AGENT = "HPCFair-Assessor/1"
_CONTENT_RANGE = re.compile(r"bytes \d+-\d+/(\d+)")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Visit:
    """An answer with what was read of it.

    Attributes:
        headers: Of the last answer; none if none came.
        body: Cut at :data:`MOST_BYTES`; empty of ``HEAD``.
    """

    answer: Answer
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    body: bytes = b""

    @property
    def link(self) -> str:
        """The ``Link`` header; several are one, as RFC 9110 has it."""
        return ", ".join(self.headers.get_list("Link"))


class Visitor:
    """An anonymous client of one hub.

    Args:
        hub: The hub's outside address.
        inside: Where requests for it go, if not there: workers may not reach what outsiders do.
        elsewhere: Addresses whose hosts may be asked, too.
        check: Called before each request and while bytes come; what it raises ends the visit.
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
                # Lengths and digests are of the bytes as they are.
                "Accept-Encoding": "identity",
            },
        )

    def __enter__(self) -> "Visitor":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._client.close()

    def may_ask(self, url: str) -> bool:
        """Whether the host of ``url`` is one that may be asked."""
        return origin_of(url) in self._hosts

    def read(self, url: str, accept: str = "*/*") -> Visit:
        """``GET``, redirects followed, with the beginning of the body."""
        return self._go("GET", url, {"Accept": accept}, self._body)

    def head(self, url: str) -> Visit:
        """``HEAD``, redirects followed."""
        return self._go("HEAD", url, {}, lambda _: b"")

    def count(self, url: str, claimed_bytes: int) -> tuple[int, str] | None:
        """How many bytes a file has, and the SHA-256 of those that came; ``None`` if it is refused
        or breaks off.

        They are asked for as the last so many bytes: a request that begins with the first byte
        counts as somebody's download. Reading ends behind the bytes that are claimed.
        """
        found: list[tuple[int, str]] = []

        def counted(response: httpx.Response) -> bytes:
            if response.is_success:
                found.append(self._counted(response, claimed_bytes))
            return b""

        headers = {"Range": f"bytes=-{claimed_bytes}"} if claimed_bytes else {}
        self._go("GET", url, headers, counted)
        return found[0] if found else None

    def _go(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        read: Callable[[httpx.Response], bytes],
    ) -> Visit:
        statuses: list[int] = []
        at, media_type, received = url, "", httpx.Headers()
        body = b""
        try:
            # What leads where nobody may be asked is left at the redirect.
            while len(statuses) <= _MOST_REDIRECTS and self.may_ask(at):
                self._check()
                with self._client.stream(method, at, headers=headers) as response:
                    received = response.headers
                    media_type = _plain(received.get("Content-Type", ""))
                    if not response.has_redirect_location:
                        body = read(response)
                        statuses.append(response.status_code)
                        break
                    statuses.append(response.status_code)
                    at = urljoin(at, received["Location"])
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            logger.info("%s %s: %s", method, at, error)
            return Visit(Answer(url=url, statuses=tuple(statuses), final=at))
        answer = Answer(url=url, statuses=tuple(statuses), final=at, media_type=media_type)
        return Visit(answer, received, body)

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
    """Takes requests for the hub to where workers reach it, in the name of its outside address."""

    def __init__(self, outside: str, inside: httpx.URL, transport: httpx.BaseTransport) -> None:
        self._outside = outside
        self._inside = inside
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if origin_of(str(request.url)) != self._outside:
            return self._transport.handle_request(request)
        inside = self._inside
        url = request.url.copy_with(scheme=inside.scheme, host=inside.host, port=inside.port)
        # The headers name the outside host already.
        moved = httpx.Request(
            request.method,
            url,
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return self._transport.handle_request(moved)

    def close(self) -> None:
        self._transport.close()


def origin_of(url: str) -> str:
    """Scheme, host and port of an address of the web; "" if it is none, or carries a password."""
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
