"""What to tell somebody about a card before it is committed."""

from registry.errors import Invalid
from registry.validation.card import Card, parse
from registry.validation.license import license_missing, license_of


def card_faults(text: str) -> tuple[list[str], list[str]]:
    """What keeps README.md from being committed, and what it lacks, each in words."""
    try:
        # A lone surrogate, which JSON can spell, is no text: the card's own check says so.
        card = parse(text.encode("utf-8", "surrogatepass"))
        if not card.values:
            return [], [
                "README.md has no values: put 'key: value' lines between '---' lines at its top."
            ]
        license_ = license_in(card)
    except Invalid as fault:
        return [str(fault)], []
    return [], [] if license_ else [str(license_missing(card.values))]


def license_in(card: Card) -> str:
    """The SPDX expression of a card, "" where it names no license.

    Raises:
        Invalid: ``license_unknown``, naming the line.
    """
    try:
        return license_of(card.values)
    except Invalid as fault:
        line = card.lines.get("license", 1)
        detail = f"README.md, line {line}: {fault.detail}"
        raise Invalid(fault.code, detail, fault.hint, fields=fault.fields) from fault
