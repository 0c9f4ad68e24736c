"""ARKs (draft-kunze-ark-41): opaque names with a check character.

A name is the shoulder, random characters, and the check character that NOID computes over NAAN and
name together (https://metacpan.org/dist/Noid/view/noid, "NOID CHECK DIGIT ALGORITHM"). It detects
any wrong character and any transposition of two characters.
"""

import re
import secrets
from typing import NamedTuple

#: Digits and consonants without ``l`` and ``y``: no similar characters, no accidental words.
BETANUMERIC = "0123456789bcdfghjkmnpqrstvwxz"
#: Prefix of all names minted here, so that a site can mint others under the same NAAN.
SHOULDER = "h2"
#: The NAAN for tests (https://arks.org/about/ark-naans/).
TEST_NAAN = "99999"
#: What records say beside an identifier of the test authority.
TEST_NOTE = (
    f"NAAN {TEST_NAAN} is a test authority: resolves on this hub only, and nothing is promised "
    "beyond it."
)
#: Number of random characters: 29 to the power of 8, or 5e11, names.
_RANDOM = 8
_ARK = re.compile(r"ark:/?(?P<naan>[0-9a-z]+)/(?P<name>[0-9a-z]+)")
_NAAN = re.compile(r"[0-9bcdfghjkmnpqrstvwxz]{5,16}")
_HYPHENS = re.compile(r"[-\u00ad\u2010-\u2015]")


class Ark(NamedTuple):
    """A parsed ARK."""

    naan: str
    name: str


def mint(naan: str) -> str:
    """A random name, without its NAAN. The caller checks that it is not in use."""
    name = SHOULDER + "".join(secrets.choice(BETANUMERIC) for _ in range(_RANDOM))
    return f"{name}{check_character(f'{naan}/{name}')}"


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
    """Parse ``ark:NAAN/name`` or ``ark:/NAAN/name``, ignoring hyphens and case, else ``None``."""
    match = _ARK.fullmatch(plain(text))
    return Ark(match["naan"], match["name"]) if match else None


def plain(text: str) -> str:
    """``text`` normalised for comparison: in lower case, without hyphens and outer spaces."""
    return _HYPHENS.sub("", text.strip().lower())


def is_naan(text: str) -> bool:
    """Whether ``text`` is a valid NAAN."""
    return _NAAN.fullmatch(text) is not None


def is_test(address: str) -> bool:
    """Whether ``address`` has an ARK of the test authority, which promises no persistence."""
    return f"ark:/{TEST_NAAN}/" in address


def test_property(address: str) -> dict[str, str]:
    """Properties of a schema.org ``PropertyValue`` that marks an ARK of the test authority: the ARK
    once more, with a note. Empty for other addresses."""
    if not is_test(address):
        return {}
    ark = f"ark:{address.partition('ark:')[2]}"
    return {"propertyID": "ARK", "value": ark, "description": TEST_NOTE}


def written(naan: str, name: str) -> str:
    """The identifier as served and cited: ``ark:/NAAN/name``."""
    return f"ark:/{naan}/{name}"
