"""All findings about a README.md, for pages, API and commits."""

import re
from collections.abc import Callable, Iterable

from registry.errors import Invalid
from registry.fair.card.card import read
from registry.fair.card.contradictions import Computed, contradictions
from registry.fair.card.markup import markup
from registry.validation.card import parse
from registry.validation.findings import CardFinding

#: Fields of findings outside the card's values.
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
    """Findings about a README.md, sorted by line.

    Args:
        data: The file; if it is not a valid card, that is the only finding.
        repository: ``namespace/name`` of its repository.
        parents: The base models of a network by its name.
        computed: Facts about the other files, if known.
    """
    try:
        card = parse(data)
    except Invalid as error:
        return (unreadable(error),)
    # Only the existence of files matters here, not their addresses.
    files = dict.fromkeys(computed.paths, "") if computed else None
    facts = read(card, repository=repository, parents=parents, files=files)
    findings = [*facts.findings, *markup(card)]
    if computed:
        findings += contradictions(card, computed)
    return tuple(sorted(dict.fromkeys(findings), key=lambda one: one.line))


def unreadable(error: Invalid) -> CardFinding:
    """The rejection of a whole README.md as a finding at its line."""
    match = _LINE.fullmatch(error.detail)
    line, why = (int(match[1]), match[2]) if match else (1, error.detail)
    return CardFinding(line, "README.md", error.code, f"{why[:1].upper()}{why[1:]}", error.hint)


def spelled(finding: CardFinding) -> str:
    """A finding as one line of text."""
    return f"README.md, line {finding.line}: {finding.message} {finding.fix}"
