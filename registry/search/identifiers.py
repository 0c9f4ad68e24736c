"""Persistent identifiers in the text of the search box, as people copy them: an ARK, a DOI, or the
address of one at a hub or a resolver."""

import re

_ARK = re.compile(r"(?:https?://\S*/)?(ark:/?[0-9a-z]+/[0-9a-z-]+)/?", re.IGNORECASE)
_DOI = re.compile(r"(?:doi:|https?://(?:dx\.)?doi\.org/)(10\.[0-9]{4,9}/\S+)", re.IGNORECASE)


def identifier_in(word: str) -> str:
    """The identifier that a word is or leads to, ``ark:...`` or ``doi:10...``; "" for others."""
    if match := _ARK.fullmatch(word):
        return match[1]
    match = _DOI.fullmatch(word)
    return f"doi:{match[1]}" if match else ""
