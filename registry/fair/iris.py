"""Addresses that strangers wrote, made fit to stand in linked data."""

import re
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

_HIERARCHICAL = frozenset({"http", "https", "ftp"})
_SCHEMES = _HIERARCHICAL | {"urn", "doi", "ark", "swh", "pkg"}
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_IPV6 = re.compile(r"\[[0-9A-Fa-f:.]+\](?::[0-9]*)?")
# RFC 3986, sections 3.2.2 and 3.3: what a host and a segment of a path may hold as it is.
_HOST = "!$&'()*+,;=%-._~"
_SEGMENT = f":@{_HOST}"


def iri(text: str | None) -> str | None:
    """``text`` as an absolute URI (RFC 3986), or ``None`` where it is none.

    What may not stand in a URI is percent-encoded. Schemes that name no thing, such as
    ``javascript:`` and ``data:``, count as none, and so does what carries a password.
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


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text.strip())
        # A port that is no number is found when it is asked for.
        is_whole = parts.port is None or parts.port >= 0
    except ValueError:
        return None
    return parts if is_whole else None


def _encoded(text: str, *, safe: str) -> str:
    return quote(_STRAY_PERCENT.sub("%25", text), safe=safe)
