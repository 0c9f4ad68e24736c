"""Controlled vocabularies in cards: roles of contributors, and codes of languages.

Sources: ANSI/NISO Z39.104-2022, CRediT, Contributor Roles Taxonomy, with terms as on
credit.niso.org; BCP 47, which includes the codes of ISO 639.
"""

import re

import langcodes

from registry.validation.findings import InvalidValue, nearest

TERMS = (
    "Conceptualization", "Data curation", "Formal analysis", "Funding acquisition", "Investigation",
    "Methodology", "Project administration", "Resources", "Software", "Supervision", "Validation",
    "Visualization", "Writing – original draft", "Writing – review & editing",
)  # fmt: skip
_ADDRESS = re.compile(r"https?://credit\.niso\.org/contributor-roles/([a-z-]+)/?")
#: Words of Hugging Face cards that are not language codes, with their replacement.
_LANGUAGE_WORDS = {"multilingual": "mul", "code": ""}


def credit_term(text: str) -> str:
    """The CRediT term for ``text``: its address, or its name in any case and spelling.

    Raises ``InvalidValue``: ``role_unknown``, with the most similar term.
    """
    address = _ADDRESS.fullmatch(text.strip())
    name = address[1] if address else text
    term = _BY_LETTERS.get(_letters(name))
    if term is None:
        raise InvalidValue(
            "role_unknown",
            f"{text[:100]!r} is not a role of the CRediT taxonomy.",
            f"{nearest(name, TERMS)}The roles are: {', '.join(TERMS)}.",
        )
    return term


def language_code(text: str) -> str:
    """The shortest form of a language code (``de`` for ``deu``); "" for ``code``.

    Raises ``InvalidValue``: ``language_unknown``.
    """
    word = text.strip()
    if word.lower() in _LANGUAGE_WORDS:
        return _LANGUAGE_WORDS[word.lower()]
    if not langcodes.tag_is_valid(word):
        raise InvalidValue(
            "language_unknown",
            f"{text[:100]!r} is not a language code.",
            "Write an ISO 639 code such as en or deu, or a tag such as pt-BR.",
        )
    return langcodes.standardize_tag(word)


def _letters(text: str) -> str:
    letters = re.sub(r"[^a-z]|\band\b", "", text[:100].casefold())
    return letters.replace("isation", "ization")


_BY_LETTERS = {_letters(term): term for term in TERMS}
