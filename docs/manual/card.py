"""Reference of the keys of cards."""

from manual.markdown import table
from registry.fair.card.keys import CARD_KEYS


def card_page() -> str:
    """All supported keys with their forms and meanings."""
    rows = ((f"`{name}`", key.form, key.meaning) for name, key in CARD_KEYS.items())
    return table(("key", "form", "meaning"), rows)
