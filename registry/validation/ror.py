"""ROR ids, which name research organisations.

Source: Research Organization Registry, "ROR identifier pattern": a zero, six characters of
Crockford's base 32, and two check digits of ISO/IEC 7064, MOD 97-10.
"""

import re

from registry.validation.findings import InvalidValue

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_FORM = re.compile(
    r"(?:(?:https?://)?(?:www\.)?ror\.org/|ror:\s*)?(0[0-9a-hjkmnp-tv-z]{6})([0-9]{2})/?",
    re.IGNORECASE | re.ASCII,
)


def ror_url(text: str) -> str:
    """The full address of the id in ``text``, which may be bare or an address itself.

    Raises:
        Fault: ``ror_invalid``.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InvalidValue(
            "ror_invalid",
            f"{text[:100]!r} is no ROR id.",
            "Look the organisation up at https://ror.org and write its id, such as "
            "https://ror.org/05gq02987.",
        )
    name = match[1].lower()
    check = _check_digits(name)
    if match[2] != check:
        raise InvalidValue(
            "ror_invalid",
            f"The check digits of the ROR id {name}{match[2]} do not fit the rest.",
            f"If the rest is right, the id is https://ror.org/{name}{check}.",
        )
    return f"https://ror.org/{name}{check}"


def _check_digits(name: str) -> str:
    number = 0
    for character in name:
        number = number * 32 + _DIGITS.index(character)
    return f"{98 - number * 100 % 97:02}"
