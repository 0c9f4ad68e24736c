"""Codes of languages: BCP 47, which holds those of ISO 639."""

import langcodes

from registry.validation.findings import InvalidValue

#: The Hugging Face Hub's words that are no codes, to what they become; ``code`` is no language.
_WORDS = {"multilingual": "mul", "code": ""}


def language_code(text: str) -> str:
    """The code in its shortest spelling (``de`` for ``deu``), "" for what is no language.

    Raises:
        Fault: ``language_unknown``.
    """
    word = text.strip()
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    if not langcodes.tag_is_valid(word):
        raise InvalidValue(
            "language_unknown",
            f"{text[:100]!r} is no code of a language.",
            "Write a code of ISO 639, such as en or deu, or a tag such as pt-BR.",
        )
    return langcodes.standardize_tag(word)
