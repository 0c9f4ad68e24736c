"""Faults of a README.md before it is committed."""

from registry.errors import Invalid
from registry.states import RepositoryKind
from registry.validation.card import parse
from registry.validation.license import license_in, license_missing
from registry.validation.model_index import model_index_faults


def card_faults(
    text: str, kind: RepositoryKind = RepositoryKind.MODEL
) -> tuple[list[str], list[str]]:
    """Errors that prevent a commit of README.md, and warnings, as texts."""
    try:
        # JSON may contain lone surrogates, which the check of the card reports.
        card = parse(text.encode("utf-8", "surrogatepass"))
        if not card.values:
            return [], [
                "README.md has no values: put 'key: value' lines between '---' lines at its top."
            ]
        license_ = license_in(card)
    except Invalid as error:
        return [str(error)], []
    if kind == RepositoryKind.MODEL and (faults := model_index_faults(card)):
        return faults, []
    return [], [] if license_ else [str(license_missing(card.values))]
