"""Parsers of served headers, link sets and pages; malformed parts are left out without an error."""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from registry.fair.score.reading import is_url
from registry.fair.signposting import Link

_TARGET = re.compile(r"\s*,?\s*<([^<>]*)>")
_PARAMETER = re.compile(
    r'\s*;\s*([\w!#$&+.^`|~*-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^",;\s]*)))?'
)
_ESCAPE = re.compile(r"\\(.)")
# RFC 9530, section 2: a dictionary of byte sequences (RFC 8941) by the names of algorithms.
_SHA256 = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]*):")
_SILENT = frozenset({"script", "style", "template", "title", "noscript"})


@dataclass(frozen=True, slots=True)
class ServedPage:
    """A page without its scripts: visible text with normalised blanks, and the first JSON-LD,
    parsed (``None`` if there is none or it is not JSON)."""

    text: str
    embedded: Any


def links_in(header: str, page: str) -> list[Link]:
    """Links of a ``Link`` header (RFC 8288, appendix B.2) in the answer of ``page``."""
    links, at = [], 0
    while target := _TARGET.match(header, at):
        at = target.end()
        parameters: dict[str, str] = {}
        while parameter := _PARAMETER.match(header, at):
            at = parameter.end()
            name, quoted, token = parameter.groups()
            value = token or "" if quoted is None else _ESCAPE.sub(r"\1", quoted)
            # The first of repeated parameters counts.
            parameters.setdefault(name.lower(), value)
        anchor = _joined(page, parameters.get("anchor", "")) or page
        links += [
            Link(
                anchor=anchor,
                rel=rel,
                target=_joined(page, target[1]),
                type=parameters.get("type"),
                profile=parameters.get("profile"),
            )
            for rel in parameters.get("rel", "").lower().split()
        ]
    return links


def linkset_in(data: bytes, url: str) -> list[Link]:
    """Links of a JSON link set (RFC 9264, section 4.2) at ``url``."""
    document = _json(data)
    contexts = document.get("linkset") if isinstance(document, dict) else None
    return [link for one in _dicts(contexts) for link in _of_context(one, url)]


def page_in(html: str) -> ServedPage:
    """Parse a page."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    metadata = "".join(reader.metadata[0]) if reader.metadata else ""
    return ServedPage(" ".join("".join(reader.text).split()), _json(metadata))


def sha256_in(repr_digest: str) -> str:
    """The SHA-256, in hex, of a ``Repr-Digest`` header (RFC 9530); "" if it has none."""
    match = _SHA256.search(repr_digest)
    try:
        digest = base64.b64decode(match[1], validate=True) if match else b""
    except binascii.Error:
        return ""
    return digest.hex() if len(digest) == 32 else ""


def _of_context(context: dict[str, Any], url: str) -> Iterator[Link]:
    anchor = _joined(url, _text(context.get("anchor")) or "") or url
    for rel, targets in context.items():
        if rel == "anchor":
            continue
        for target in _dicts(targets):
            href = _text(target.get("href"))
            if href is not None:
                yield Link(
                    anchor=anchor,
                    rel=rel,
                    target=_joined(url, href),
                    type=_text(target.get("type")),
                )


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _json(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _joined(base: str, url: str) -> str:
    # urljoin drops empty parts of absolute addresses, such as a final semicolon.
    if is_url(url):
        return url
    try:
        return urljoin(base, url)
    except ValueError:
        return url


class _Reader(HTMLParser):
    """Collects the text of a page and its JSON-LD."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.metadata: list[list[str]] = []
        self._silent = ""
        self._is_metadata = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._silent:
            return
        self.text.append(" ")
        if tag in _SILENT:
            self._silent = tag
            self._is_metadata = tag == "script" and dict(attrs).get("type") == "application/ld+json"
            if self._is_metadata:
                self.metadata.append([])

    def handle_endtag(self, tag: str) -> None:
        self.text.append(" ")
        if tag == self._silent:
            self._silent, self._is_metadata = "", False

    def handle_data(self, data: str) -> None:
        if self._is_metadata:
            self.metadata[-1].append(data)
        elif not self._silent:
            self.text.append(data)
