"""The form that describes a model or data set: answers read from a card, and written into it.
Unchanged answers and other parts stay as written; see :mod:`registry.validation.card_edit`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from registry.fair.card import texts
from registry.fair.card.creators import Creator, authors_of, creators_of
from registry.fair.card.values import CardReader
from registry.fair.description import ResourceKind
from registry.validation.card import Card, parse, texts_of
from registry.validation.card_edit import edit

__all__ = ["QUESTIONS", "Answers", "Creator", "answers_of", "applied", "is_bare"]

#: Fields of :class:`Answers` that are asked, in order.
QUESTIONS: dict[ResourceKind, tuple[str, ...]] = {
    "model": ("title", "license", "creators", "task", "datasets", "intended_use"),
    "dataset": ("title", "license", "creators", "intended_use"),
}
_TITLE_KEYS = ("model_name", "title", "pretty_name")
_NEW_TITLE_KEYS: dict[ResourceKind, str] = {"model": "model_name", "dataset": "pretty_name"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Answers as typed; "" and empty tuples are unanswered.

    ``license`` is spelled as in cards, such as ``apache-2.0``; ``datasets`` are names or addresses
    of training data; ``intended_use`` is Markdown.
    """

    title: str = ""
    license: str = ""
    creators: tuple[Creator, ...] = ()
    task: str = ""
    datasets: tuple[str, ...] = ()
    intended_use: str = ""


def answers_of(card: Card) -> Answers:
    """The answers in a card."""
    reader = CardReader(card)
    return Answers(
        title=" ".join(texts_of(card.values.get(_title_key(card, "model")))),
        license=", ".join(texts_of(card.values.get("license"))),
        creators=creators_of(reader),
        task=card.task,
        datasets=tuple(texts_of(card.values.get("datasets"))),
        intended_use=texts.texts_of(reader)["intended_use"] or "",
    )


def applied(readme: str, answers: Answers, kind: ResourceKind, *, name: str) -> str:
    """README.md with these answers.

    If it has no text, the intended use becomes its text, and so its description.

    Args:
        readme: The whole file, "" if there is none.
        name: Heading of a new text without a title.

    Raises:
        Invalid: ``invalid_card``, if ``readme`` or the result is not a valid card.
    """
    card = parse(readme.encode("utf-8", "surrogatepass"))
    edited = edit(readme, _changes(card, answers, kind))
    if not answers.intended_use or not is_bare(card):
        return edited
    end = "\r\n" if "\r\n" in readme else "\n"
    heading = [] if card.body.strip() else [f"# {answers.title or name}"]
    above = [edited.rstrip()] if edited.strip() else []
    text = "\n\n".join([*heading, answers.intended_use])
    return (end * 2).join([*above, text.replace("\n", end)]) + end


def is_bare(card: Card) -> bool:
    """Whether the card has no text below its values, or only a heading."""
    lines = [line for line in card.body.splitlines() if line.strip()]
    return not lines or (len(lines) == 1 and lines[0].startswith("#"))


def _changes(card: Card, answers: Answers, kind: ResourceKind) -> Mapping[str, Any]:
    """Changed keys of the card with their new values, ``None`` to remove one."""
    before = answers_of(card)
    written: dict[str, tuple[str, Any]] = {
        "title": (_title_key(card, kind), answers.title),
        "license": ("license", answers.license),
        "creators": ("authors", authors_of(card, answers.creators)),
        "task": ("pipeline_tag", answers.task),
        "datasets": ("datasets", list(answers.datasets)),
        "intended_use": ("intended_use", answers.intended_use),
    }
    changes: dict[str, Any] = {}
    for question in QUESTIONS[kind]:
        key, value = written[question]
        if getattr(answers, question) != getattr(before, question):
            changes[key] = value or None
    if "license" in changes and before.license.lower() == "other":
        # These keys describe the former licence.
        changes |= {"license_name": None, "license_link": None}
    return changes


def _title_key(card: Card, kind: ResourceKind) -> str:
    """The key of the card's title, or the key for a new one."""
    keys = (key for key in _TITLE_KEYS if texts_of(card.values.get(key)))
    return next(keys, _NEW_TITLE_KEYS[kind])
