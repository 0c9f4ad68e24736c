"""What kind of identifier an address is, in the words of DataCite 4.7's relatedIdentifierType."""

import re
from typing import NamedTuple


class TypedIdentifier(NamedTuple):
    """Attributes: ``value`` as DataCite's documentation spells identifiers of this ``scheme``."""

    scheme: str
    value: str


#: The group is the identifier; where there is none, the whole address is.
_SCHEMES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("DOI", re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)(10\.\S+)", re.IGNORECASE)),
    ("arXiv", re.compile(r"https?://arxiv\.org/abs/(\S+)", re.IGNORECASE)),
    ("SWHID", re.compile(r"(swh:1:\S+)")),
    ("Handle", re.compile(r"https?://hdl\.handle\.net/(\S+)")),
    ("w3id", re.compile(r"https?://w3id\.org/\S+")),
    # An ARK in an address stays one: what stands before it says who resolves it.
    ("ARK", re.compile(r"(?:https?://[^/]+/)?ark:/?\d\S*")),
)


def identifier_of(address: str) -> TypedIdentifier:
    """What ``address`` identifies by; ``URL`` if by nothing better."""
    for scheme, pattern in _SCHEMES:
        if found := pattern.fullmatch(address):
            value = found[found.lastindex or 0]
            return TypedIdentifier(scheme, f"arXiv:{value}" if scheme == "arXiv" else value)
    return TypedIdentifier("URL", address)
