"""Model cards: README.md with YAML front matter, as on the Hugging Face Hub."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from hpcfair.errors import BadCard, LicenseMissing

_FRONT = re.compile(r"\A\s*---[ \t]*\n(?P<values>.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
#: Keys of this package to those of the front matter.
_ALIASES = {"task": "pipeline_tag", "library": "library_name"}
#: Keys of ``card=`` that become text below the front matter.
_TEXTS = ("description", "readme")


def merge(readme: str | None, card: Mapping[str, Any] | None, *, name: str) -> str:
    """README.md with the values of ``card`` inserted into its front matter.

    ``card`` takes any front-matter key, ``task`` and ``library`` for the Hub's ``pipeline_tag``
    and ``library_name``, ``description`` for the first paragraph and ``readme`` for the whole text
    of a card without text. Without ``card`` the text is returned unchanged.

    Args:
        readme: The text so far, or ``None``.
        name: ``namespace/name``, for the heading of a new card.

    Raises:
        BadCard: the front matter is not YAML of ``key: value`` lines, or a value has no YAML form.
    """
    if readme is not None and not card:
        return readme
    declared = {_ALIASES.get(key, key): value for key, value in (card or {}).items()}
    texts = {key: str(declared.pop(key)) for key in _TEXTS if key in declared}
    values, body = parse(readme or "")
    values |= {key: value for key, value in declared.items() if value is not None}
    if not body.strip():
        title = values.get("title") or values.get("model_name") or name.partition("/")[2]
        body = texts.get("readme") or f"# {title}\n\n{texts.get('description', '')}".rstrip() + "\n"
    try:
        front = yaml.safe_dump(values, sort_keys=False, allow_unicode=True) if values else ""
    except yaml.YAMLError as error:
        raise BadCard(
            f"A value of the card cannot be written: {error}.", "Use text, numbers and lists."
        ) from error
    return f"---\n{front}---\n{body}"


def parse(readme: str) -> tuple[dict[str, Any], str]:
    """Front matter and the text below it. Raises BadCard if the front
    matter is not YAML of ``key: value`` lines."""
    text = readme.removeprefix("\ufeff").replace("\r\n", "\n")
    match = _FRONT.match(text)
    if not match:
        return {}, text
    try:
        values = yaml.safe_load(match["values"])
    # ValueError: a date that does not exist.
    except (yaml.YAMLError, ValueError) as error:
        raise BadCard(
            f"The front matter of README.md is not YAML: {error}.", "Correct the lines named above."
        ) from error
    if values is not None and not isinstance(values, dict):
        raise BadCard("The front matter of README.md must be 'key: value' lines.")
    return values or {}, text[match.end() :]


def require_license(readme: str) -> None:
    """Reject a card without a license before anything is sent. Raises LicenseMissing if the card
    has no license."""
    if not parse(readme)[0].get("license"):
        raise LicenseMissing(
            "The card has no license, so nobody is permitted to use the model.",
            'Pass card={"license": "apache-2.0"}, or write the line into README.md.',
            code="license_missing",
        )
