"""References in cards: web addresses, DOIs and arXiv ids.

Sources: ISO 26324 and the DOI handbook; arXiv's "Understanding the arXiv identifier", and its
announcement that each paper has the DOI ``10.48550/arXiv.<id>``.
"""

import re
from urllib.parse import quote

from registry.errors import Invalid
from registry.validation.findings import InvalidValue
from registry.validation.url import check_url

_ASCII = re.IGNORECASE | re.ASCII
_DOI = re.compile(
    r"(?P<lead>doi:\s*|(?:https?://)?(?:dx\.|www\.)?doi\.org/)?(?P<doi>10\.[0-9]{4,9}(?:\.[0-9]+)*/\S+)",
    _ASCII,
)
_ARXIV_LEAD = r"(?:arxiv:\s*|https?://(?:www\.|export\.)?arxiv\.org/(?:abs|pdf|html)/)"
_ARXIV = re.compile(
    rf"(?:{_ARXIV_LEAD})?(?P<new>[0-9]{{2}}(?:0[1-9]|1[0-2])\.[0-9]{{4,5}})(?:v[0-9]+)?(?:\.pdf)?"
    rf"|{_ARXIV_LEAD}(?P<archive>[a-z-]+)(?:\.[A-Z]{{2}})?/(?P<old>[0-9]{{7}})(?:v[0-9]+)?(?:\.pdf)?",
    _ASCII,
)
# Characters that RFC 3986 allows in paths; a DOI may contain others, such as <.
_SAFE = "/:;()!$&'*+,=@-._~"


def web_address(text: str) -> str:
    """``text`` if it is a web address. Raises ``InvalidValue``: ``url_invalid``."""
    try:
        return check_url(text.strip(), private=True)
    except Invalid as error:
        raise InvalidValue(
            "url_invalid",
            f"The address {text[:100]!r} {error.fields['url']}.",
            "Write a complete address, such as https://example.org/page.",
        ) from error


def doi_url(text: str) -> str:
    """A DOI, bare or not, as ``https://doi.org/...``. Raises ``InvalidValue``: ``doi_invalid``."""
    match = _DOI.fullmatch(text.strip())
    if match is None:
        raise InvalidValue(
            "doi_invalid",
            f"{text[:100]!r} is not a DOI.",
            "Write it like 10.1038/s41597-022-01712-9.",
        )
    # DOIs in addresses are escaped already.
    safe = _SAFE + "%" if (match["lead"] or "").endswith("/") else _SAFE
    return f"https://doi.org/{quote(match['doi'], safe=safe)}"


def arxiv_url(text: str) -> str:
    """The arXiv id ``text``, bare or an address, as the address of its DOI.

    Raises ``InvalidValue``: ``arxiv_invalid``.
    """
    match = _ARXIV.fullmatch(text.strip())
    if match is None:
        raise InvalidValue(
            "arxiv_invalid",
            f"{text[:100]!r} is not an arXiv id.",
            "Write it like arxiv:1810.03993.",
        )
    paper = match["new"] or f"{match['archive']}/{match['old']}"
    return f"https://doi.org/10.48550/arXiv.{paper}"


def reference_url(text: str) -> str:
    """The address of a DOI, arXiv id or web address. Raises ``InvalidValue``: ``url_invalid``."""
    for parse in (doi_url, arxiv_url):
        try:
            return parse(text)
        except InvalidValue:
            continue
    return web_address(text)
