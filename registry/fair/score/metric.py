"""Metrics: criteria that a harvested record meets or not, with points for each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from registry.fair.description import ResourceKind
from registry.fair.score.harvest import Harvest

Principle = Literal["F", "A", "I", "R"]
#: Origin of a metric: the FAIRsFAIR project, or this hub.
Source = Literal["fairsfair", "hub"]
#: Advice where the card cannot help.
BY_HUB = "The hub provides this itself; report it to its operators."
_BOTH: frozenset[ResourceKind] = frozenset({"model", "dataset"})


@dataclass(frozen=True, slots=True)
class Missing:
    """A reason for lost points: the fault, how to fix it, and the key of the card to fill
    (``README.md`` for its text, ``None`` if the card cannot help)."""

    what: str
    how: str = BY_HUB
    field: str | None = None


WITHDRAWN = Missing("The files were withdrawn.", "Nothing can be done; the record is kept.")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Earned points with their evidence, and the reasons for lost points."""

    points: float
    evidence: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion of a metric, evaluated for a record: the evidence that it is met, "" if it is
    not, and the reasons to report in that case."""

    points: float
    evidence: str
    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; ``points`` are attainable, and ``check`` evaluates it for one record."""

    id: str
    source: Source
    principle: Principle
    title: str
    points: float
    check: Callable[[Harvest], Outcome]
    kinds: frozenset[ResourceKind] = _BOTH


def criterion(points: float, evidence: Iterable[str] | str, *missing: Missing) -> Criterion:
    """A criterion that is met if there is evidence: a text, or texts of which a few are shown."""
    return Criterion(points, evidence if isinstance(evidence, str) else listed(evidence), missing)


def all_of(*criteria: Criterion) -> Outcome:
    """The sum of the points of the criteria that are met."""
    earned = [one for one in criteria if one.evidence]
    lost = [one for one in criteria if not one.evidence]
    return Outcome(
        points=sum(one.points for one in earned),
        evidence=tuple(one.evidence for one in earned),
        missing=tuple(dict.fromkeys(missing for one in lost for missing in one.missing)),
    )


def any_of(*criteria: Criterion) -> Outcome:
    """The points of the best criterion that is met; nothing is missing if one is."""
    earned = [one for one in criteria if one.evidence]
    if not earned:
        return all_of(*criteria)
    return Outcome(max(one.points for one in earned), tuple(one.evidence for one in earned))


def listed(values: Iterable[str], *, limit: int = 5) -> str:
    """The first ``limit`` values as one text, with the number of the others."""
    values = list(values)
    more = f" and {len(values) - limit} more" if len(values) > limit else ""
    return ", ".join(values[:limit]) + more
