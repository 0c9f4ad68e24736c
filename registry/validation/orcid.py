"""ORCID iDs, which name persons.

Source: ORCID, "Structure of the ORCID Identifier": sixteen digits, of which the last is the check
digit of ISO/IEC 7064, MOD 11-2.
"""

import re

from registry.validation.findings import InvalidValue

_FORM = re.compile(
    r"(?:(?:https?://)?(?:www\.)?orcid\.org/|orcid:\s*)?([0-9]{4}(?:-?[0-9]{4}){2}-?[0-9]{3}[0-9X])/?",
    re.IGNORECASE | re.ASCII,
)


def orcid_url(text: str) -> str:
    """The full address of the iD in ``text``, which may be bare or an address itself.

    Raises:
        Fault: ``orcid_invalid``, with the digit that would be right where only it is wrong.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InvalidValue(
            "orcid_invalid",
            f"{text[:100]!r} is no ORCID iD.",
            "Write its sixteen digits, such as 0000-0002-1825-0097.",
        )
    digits = match[1].replace("-", "").upper()
    check = _check_digit(digits[:15])
    if digits[15] != check:
        raise InvalidValue(
            "orcid_invalid",
            f"The last digit of the ORCID iD {_hyphened(digits)} does not fit the others.",
            f"If the others are right, the iD is {_hyphened(digits[:15] + check)}.",
        )
    return f"https://orcid.org/{_hyphened(digits)}"


def _check_digit(digits: str) -> str:
    total = 0
    for digit in digits:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total) % 11]


def _hyphened(digits: str) -> str:
    return "-".join(digits[start : start + 4] for start in range(0, 16, 4))
