"""Roles of contributors.

Source: ANSI/NISO Z39.104-2022, CRediT, Contributor Roles Taxonomy; terms as on credit.niso.org.
"""

import re

from registry.validation.findings import InvalidValue, nearest

TERMS = (
    "Conceptualization",
    "Data curation",
    "Formal analysis",
    "Funding acquisition",
    "Investigation",
    "Methodology",
    "Project administration",
    "Resources",
    "Software",
    "Supervision",
    "Validation",
    "Visualization",
    "Writing – original draft",
    "Writing – review & editing",
)
_ADDRESS = re.compile(r"https?://credit\.niso\.org/contributor-roles/([a-z-]+)/?")


def credit_term(text: str) -> str:
    """The term that ``text`` spells, in other letters, in British, or by its address.

    Raises:
        Fault: ``role_unknown``, with the nearest term.
    """
    address = _ADDRESS.fullmatch(text.strip())
    wanted = address[1] if address else text
    term = _BY_LETTERS.get(_letters(wanted))
    if term is None:
        raise InvalidValue(
            "role_unknown",
            f"{text[:100]!r} is no role of the CRediT taxonomy.",
            f"{nearest(wanted, TERMS)}The roles are: {', '.join(TERMS)}.",
        )
    return term


def _letters(text: str) -> str:
    letters = re.sub(r"[^a-z]|\band\b", "", text[:100].casefold())
    return letters.replace("isation", "ization")


_BY_LETTERS = {_letters(term): term for term in TERMS}
