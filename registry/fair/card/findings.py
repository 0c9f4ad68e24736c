"""Everything that is to be told about a README.md, by line: the one list for all who show it."""

import re
from collections.abc import Callable, Iterable

from registry.errors import Invalid
from registry.fair.card.card import read
from registry.fair.card.contradictions import Computed, contradictions
from registry.fair.card.markup import markup
from registry.validation.card import parse
from registry.validation.findings import CardFinding

#: Where what stands in no value of the card is found.
TEXT_FIELDS = frozenset({"README.md", "description"})
_LINE = re.compile(r"(?:README\.md, )?line (\d+): (.*)", re.DOTALL)


def _without_parents(_name: str) -> Iterable[str]:
    return ()


def findings_in(
    data: bytes,
    *,
    repository: str = "",
    parents: Callable[[str], Iterable[str]] = _without_parents,
    computed: Computed | None = None,
) -> tuple[CardFinding, ...]:
    """What is wrong in a README.md.

    Args:
        data: The file, of any length and kind; one that cannot be read is a finding, too.
        repository: ``namespace/name`` of what it is of.
        parents: The base models of a network by its name.
        computed: What the other files say, where they are known.
    """
    try:
        card = parse(data)
    except Invalid as error:
        return (unreadable(error),)
    # Whether a file is there is all that is asked; its address is not.
    files = dict.fromkeys(computed.paths, "") if computed else None
    facts = read(card, repository=repository, parents=parents, files=files)
    found = [*facts.findings, *markup(card)]
    if computed:
        found += contradictions(card, computed)
    return tuple(sorted(dict.fromkeys(found), key=lambda one: one.line))


def unreadable(error: Invalid) -> CardFinding:
    """A refusal of a whole README.md as a finding at its line."""
    place = _LINE.fullmatch(error.detail)
    line, why = (int(place[1]), place[2]) if place else (1, error.detail)
    return CardFinding(line, "README.md", error.code, f"{why[:1].upper()}{why[1:]}", error.hint)


def spelled(finding: CardFinding) -> str:
    """A finding as one line of text."""
    return f"README.md, line {finding.line}: {finding.message} {finding.fix}"
