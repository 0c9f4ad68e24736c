"""What to tell somebody about a card before they commit it."""

from registry.errors import Invalid
from registry.validation.card import parse
from registry.validation.license import license_missing, license_of


def card_faults(text: str) -> tuple[list[str], list[str]]:
    """What keeps README.md from being committed, and what it lacks, each in words."""
    try:
        # A lone surrogate, which JSON can spell, is no text: the card's own check says so.
        card = parse(text.encode("utf-8", "surrogatepass"))
    except Invalid as fault:
        return [str(fault)], []
    if not card.values:
        return [], [
            "README.md has no values: put 'key: value' lines between '---' lines at its top."
        ]
    try:
        license_ = license_of(card.values)
    except Invalid as fault:
        line = card.lines.get("license", 1)
        return [f"README.md, line {line}: {fault}"], []
    return [], [] if license_ else [str(license_missing(card.values))]
