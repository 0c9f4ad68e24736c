"""What a metric is: questions to what an outside client saw, with points for the answers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from registry.fair.description import ResourceKind
from registry.fair.score.harvest import Harvest

Principle = Literal["F", "A", "I", "R"]
#: Whose metric it is: the FAIRsFAIR project's, or this hub's own.
Source = Literal["fairsfair", "hub"]
#: What to do where no card helps.
BY_HUB = "The hub sees to this itself; tell its operators."
_BOTH: frozenset[ResourceKind] = frozenset({"model", "dataset"})


@dataclass(frozen=True, slots=True)
class Missing:
    """Why points were not given.

    Attributes:
        what: What an assessor does not find.
        how: What to do about it.
        field: Key of the card to fill, or ``README.md`` for its text; ``None`` if no card helps.
    """

    what: str
    how: str = BY_HUB
    field: str | None = None


GONE = Missing("The files were withdrawn.", "Nothing: the record stays.")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Points earned, what earned them, and what is missing for the rest."""

    points: float
    evidence: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """One of a metric's questions with its answer.

    Attributes:
        points: For an answer.
        evidence: The answer; "" if there is none.
        missing: To be said if there is none.
    """

    points: float
    evidence: str
    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Attributes:
        id: As its source writes it.
        points: The most there is to earn.
        check: Answers for one record.
        kinds: What it applies to.
    """

    id: str
    source: Source
    principle: Principle
    title: str
    points: float
    check: Callable[[Harvest], Outcome]
    kinds: frozenset[ResourceKind] = _BOTH


def answered(points: float, evidence: Iterable[str] | str, *missing: Missing) -> Answered:
    """A question with its answer: a text, or several of which a few are shown."""
    return Answered(points, evidence if isinstance(evidence, str) else listed(evidence), missing)


def all_of(*questions: Answered) -> Outcome:
    """Points for each question that has an answer."""
    earned = [one for one in questions if one.evidence]
    lost = [one for one in questions if not one.evidence]
    return Outcome(
        points=sum(one.points for one in earned),
        evidence=tuple(one.evidence for one in earned),
        missing=tuple(dict.fromkeys(missing for one in lost for missing in one.missing)),
    )


def any_of(*questions: Answered) -> Outcome:
    """The points of the best question that has an answer; then nothing is missing."""
    earned = [one for one in questions if one.evidence]
    if not earned:
        return all_of(*questions)
    return Outcome(max(one.points for one in earned), tuple(one.evidence for one in earned))


def listed(values: Iterable[str], *, most: int = 5) -> str:
    """A few values as one text, and how many more there are."""
    values = list(values)
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(values[:most]) + more
