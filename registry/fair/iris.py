"""Addresses in user input: valid URIs for linked data, and the identifiers that they contain."""

import re
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

_HIERARCHICAL = frozenset({"http", "https", "ftp"})
_SCHEMES = _HIERARCHICAL | {"urn", "doi", "ark", "swh", "pkg"}
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_IPV6 = re.compile(r"\[[0-9A-Fa-f:.]+\](?::[0-9]*)?")
# RFC 3986, sections 3.2.2 and 3.3: characters of hosts and path segments that need no encoding.
_HOST = "!$&'()*+,;=%-._~"
_SEGMENT = f":@{_HOST}"
#: Scheme and pattern of its addresses; the group is the identifier, or else the whole address.
_IDENTIFIERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("DOI", re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)(10\.\S+)", re.IGNORECASE)),
    ("arXiv", re.compile(r"https?://arxiv\.org/abs/(\S+)", re.IGNORECASE)),
    ("SWHID", re.compile(r"(swh:1:\S+)")),
    ("Handle", re.compile(r"https?://hdl\.handle\.net/(\S+)")),
    ("w3id", re.compile(r"https?://w3id\.org/\S+")),
    # ARKs keep the address of their resolver.
    ("ARK", re.compile(r"(?:https?://[^/]+/)?ark:/?\d\S*")),
)


class TypedIdentifier(NamedTuple):
    """An identifier as DataCite 4.7 spells it, with its scheme, a ``relatedIdentifierType``."""

    scheme: str
    value: str


def iri(text: str | None) -> str | None:
    """``text`` as an absolute URI (RFC 3986), percent-encoded where necessary.

    ``None`` if it is not one, has credentials, or a scheme that identifies nothing, such as
    ``javascript:`` and ``data:``.
    """
    parts = _split(text or "")
    if parts is None or parts.scheme not in _SCHEMES or "@" in parts.netloc:
        return None
    if bool(parts.hostname) != (parts.scheme in _HIERARCHICAL):
        return None
    is_ipv6 = _IPV6.fullmatch(parts.netloc) is not None
    return urlunsplit(
        (
            parts.scheme,
            parts.netloc if is_ipv6 else _encoded(parts.netloc, safe=f":{_HOST}"),
            _encoded(parts.path, safe=f"/{_SEGMENT}"),
            _encoded(parts.query, safe=f"/?{_SEGMENT}"),
            _encoded(parts.fragment, safe=f"/?{_SEGMENT}"),
        )
    )


def identifier_of(address: str) -> TypedIdentifier:
    """The identifier that ``address`` contains; of scheme ``URL`` if it contains no other."""
    for scheme, pattern in _IDENTIFIERS:
        if match := pattern.fullmatch(address):
            value = match[match.lastindex or 0]
            return TypedIdentifier(scheme, f"arXiv:{value}" if scheme == "arXiv" else value)
    return TypedIdentifier("URL", address)


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text.strip())
        # Reading the port raises if it is not a number.
        is_valid = parts.port is None or parts.port >= 0
    except ValueError:
        return None
    return parts if is_valid else None


def _encoded(text: str, *, safe: str) -> str:
    return quote(_STRAY_PERCENT.sub("%25", text), safe=safe)
