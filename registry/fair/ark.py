"""ARKs (draft-kunze-ark-41): opaque names with a check character.

A name is the shoulder, random characters, and the check character that NOID computes over NAAN and
name together (https://metacpan.org/dist/Noid/view/noid, "NOID CHECK DIGIT ALGORITHM"): any one
wrong character, and any two that changed places, give another one.
"""

import re
import secrets
from typing import NamedTuple

#: Digits and consonants without ``l`` and ``y``: nothing to confuse, no words by accident.
BETANUMERIC = "0123456789bcdfghjkmnpqrstvwxz"
#: Before all names that this software mints: a letter and a digit, so that a site may mint
#: others beside it under the same NAAN.
SHOULDER = "h2"
#: The NAAN that belongs to nobody (https://arks.org/about/ark-naans/).
TEST_NAAN = "99999"
# 29 to the 8th: half a million million.
_RANDOM = 8
_ARK = re.compile(r"ark:/?(?P<naan>[0-9a-z]+)/(?P<name>[0-9a-z]+)")
_NAAN = re.compile(r"[0-9bcdfghjkmnpqrstvwxz]{5,16}")
_HYPHENS = re.compile(r"[-\u00ad\u2010-\u2015]")


class Ark(NamedTuple):
    """An identifier taken apart."""

    naan: str
    name: str


def mint(naan: str) -> str:
    """A new name, without its NAAN. Whether it is taken, the caller knows."""
    drawn = "".join(secrets.choice(BETANUMERIC) for _ in range(_RANDOM))
    return f"{SHOULDER}{drawn}{check_character(f'{naan}/{SHOULDER}{drawn}')}"


def check_character(text: str) -> str:
    """The check character of ``NAAN/name``: characters outside the alphabet count as 0."""
    total = sum(
        place * BETANUMERIC.index(character)
        for place, character in enumerate(text, 1)
        if character in BETANUMERIC
    )
    return BETANUMERIC[total % len(BETANUMERIC)]


def is_checked(naan: str, name: str) -> bool:
    """Whether the last character of ``name`` is the check character of the rest."""
    return len(name) > 1 and check_character(f"{naan}/{name[:-1]}") == name[-1]


def parse(text: str) -> Ark | None:
    """``ark:NAAN/name`` or ``ark:/NAAN/name``; ``None`` for anything else.

    Hyphens say nothing, and where upper case was typed, lower case is meant.
    """
    found = _ARK.fullmatch(plain(text))
    return Ark(found["naan"], found["name"]) if found else None


def plain(text: str) -> str:
    """``text`` as identifiers are compared: in lower case, without hyphens and outer spaces."""
    return _HYPHENS.sub("", text.strip().lower())


def is_naan(text: str) -> bool:
    """Whether ``text`` is a number that identifiers can be minted under."""
    return _NAAN.fullmatch(text) is not None


def written(naan: str, name: str) -> str:
    """The identifier as it is served and cited: ``ark:/NAAN/name``."""
    return f"ark:/{naan}/{name}"
