"""Identifiers of people (ORCID iD) and of research organisations (ROR id).

Sources: ORCID, "Structure of the ORCID Identifier": sixteen digits, of which the last is the check
digit of ISO/IEC 7064, MOD 11-2. Research Organization Registry, "ROR identifier pattern": a zero,
six characters of Crockford's base 32, and two check digits of ISO/IEC 7064, MOD 97-10.
"""

import re

from registry.validation.findings import InvalidValue

_ORCID = re.compile(
    r"(?:(?:https?://)?(?:www\.)?orcid\.org/|orcid:\s*)?([0-9]{4}(?:-?[0-9]{4}){2}-?[0-9]{3}[0-9X])/?",
    re.IGNORECASE | re.ASCII,
)
_BASE_32 = "0123456789abcdefghjkmnpqrstvwxyz"
_ROR = re.compile(
    r"(?:(?:https?://)?(?:www\.)?ror\.org/|ror:\s*)?(0[0-9a-hjkmnp-tv-z]{6})([0-9]{2})/?",
    re.IGNORECASE | re.ASCII,
)


def orcid_url(text: str) -> str:
    """The full address of the ORCID iD ``text``, which may be bare or an address.

    Raises ``InvalidValue``: ``orcid_invalid``, with the correct check digit if only that is wrong.
    """
    match = _ORCID.fullmatch(text.strip())
    if match is None:
        raise InvalidValue(
            "orcid_invalid",
            f"{text[:100]!r} is not an ORCID iD.",
            "Write its sixteen digits, such as 0000-0002-1825-0097.",
        )
    digits = match[1].replace("-", "").upper()
    check = _orcid_digit(digits[:15])
    if digits[15] != check:
        raise InvalidValue(
            "orcid_invalid",
            f"The check digit of the ORCID iD {_hyphened(digits)} is wrong.",
            f"If the other digits are correct, the iD is {_hyphened(digits[:15] + check)}.",
        )
    return f"https://orcid.org/{_hyphened(digits)}"


def ror_url(text: str) -> str:
    """The full address of the ROR id ``text``, which may be bare or an address.

    Raises ``InvalidValue``: ``ror_invalid``.
    """
    match = _ROR.fullmatch(text.strip())
    if match is None:
        raise InvalidValue(
            "ror_invalid",
            f"{text[:100]!r} is not a ROR id.",
            "Find the organisation at https://ror.org and write its id, such as "
            "https://ror.org/05gq02987.",
        )
    name = match[1].lower()
    check = _ror_digits(name)
    if match[2] != check:
        raise InvalidValue(
            "ror_invalid",
            f"The check digits of the ROR id {name}{match[2]} are wrong.",
            f"If the rest is correct, the id is https://ror.org/{name}{check}.",
        )
    return f"https://ror.org/{name}{check}"


def _orcid_digit(digits: str) -> str:
    total = 0
    for digit in digits:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total) % 11]


def _hyphened(digits: str) -> str:
    return "-".join(digits[start : start + 4] for start in range(0, 16, 4))


def _ror_digits(name: str) -> str:
    number = 0
    for character in name:
        number = number * 32 + _BASE_32.index(character)
    return f"{98 - number * 100 % 97:02}"
