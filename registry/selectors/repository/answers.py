"""Questions about a model or a data set, prefilled from its files, and a preview of the answers.

See :mod:`registry.fair.card.answers`. Answers that the card lacks are proposed from other sources;
they enter the card only when a user saves them.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from registry.fair.card.answers import QUESTIONS, Answers, Creator, answers_of, applied
from registry.fair.card.card import read
from registry.fair.card.draft import redescribed
from registry.fair.card.findings import findings_in
from registry.fair.description import Description, ResourceKind
from registry.fair.files import media_type, role
from registry.fair.parts import FileDescription
from registry.fair.score.score import Score, assess
from registry.selectors.access import Actor, person
from registry.selectors.fair.description import describe, describe_datasets
from registry.selectors.fair.expectation import expected_of
from registry.selectors.fair.hub import repository_address
from registry.selectors.repository.details import Details
from registry.selectors.repository.findings import license_text
from registry.selectors.repository.revision import revision_get
from registry.selectors.repository.snapshot import README
from registry.selectors.storage.blob import blob_open
from registry.states import RepositoryKind
from registry.tables import MLModel, Revision
from registry.validation.card import Card, check_size, parse
from registry.validation.findings import CardFinding
from registry.validation.license_text import recognise
from registry.validation.sections import sections_of

#: Keys of a card that the answers write, and its text.
_ANSWERED = frozenset(
    {
        *("model_name", "title", "pretty_name", "license", "license_name", "license_link"),
        *("authors", "pipeline_tag", "datasets", "intended_use", "description"),
    }
)
# Signs of markup: a heading with one of these is not a plain name.
_MARKUP = frozenset("<[`*")


@dataclass(frozen=True, slots=True)
class PrefilledAnswers:
    """Answers about the head of a default branch, before editing.

    Attributes:
        readme: README.md, "" without one; ``readme_oid`` is its git object id.
        answers: From the card, else from other sources.
        sources: Question to the source of its answer, where that is not the card.
    """

    mlmodel: MLModel
    revision: Revision
    readme: str
    readme_oid: str
    card: Card
    answers: Answers
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AnswersPreview:
    """Problems in the answered parts of the card, and the FAIR score that would result."""

    readme: str
    findings: tuple[CardFinding, ...]
    score: Score


def prefilled_answers(actor: Actor, mlmodel: MLModel) -> PrefilledAnswers:
    """The questions about ``mlmodel``, which the actor may read, answered as far as the hub can.

    The actor is proposed as the creator if the card names none. Raises ``Invalid``:
    ``invalid_card`` for the present README.md.
    """
    revision = revision_get(mlmodel)
    revision.mlmodel = mlmodel
    readme, oid = readme_at(revision)
    card = parse(readme.encode())
    answers = answers_of(card)
    proposals: dict[str, tuple[Any, str]] = {
        "title": (_heading(card), "the first heading of README.md"),
        "license": (_license(revision), "the file LICENSE"),
        "creators": (_profile(actor), "your profile"),
        "task": (Details(mlmodel, revision).task, "the architecture in config.json"),
    }
    used = {
        question: proposals[question]
        for question in QUESTIONS[kind_of(mlmodel)]
        if question in proposals and proposals[question][0] and not getattr(answers, question)
    }
    answers = replace(answers, **{question: value for question, (value, _) in used.items()})
    sources = {question: source for question, (_, source) in used.items()}
    return PrefilledAnswers(mlmodel, revision, readme, oid, card, answers, sources)


def answers_preview(prefilled: PrefilledAnswers, answers: Answers) -> AnswersPreview:
    """The effect of these answers; nothing is written.

    Raises ``Invalid``: ``invalid_card`` for the resulting README.md.
    """
    mlmodel = prefilled.mlmodel
    readme = applied(prefilled.readme, answers, kind_of(mlmodel), name=mlmodel.name)
    description = _with_readme(describe(prefilled.revision), prefilled, readme)
    files = {file.path: file.url for file in description.files}
    before = read(prefilled.card, files=files)
    after = read(parse(readme.encode()), files=files)
    after = replace(after, datasets=describe_datasets(after.datasets, mlmodel))
    score = assess(expected_of(redescribed(description, before, after)))
    findings = tuple(
        one
        for one in findings_in(readme.encode(), repository=mlmodel.full_name)
        if one.field.partition(".")[0].partition("[")[0] in _ANSWERED
    )
    return AnswersPreview(readme, findings, score)


def readme_at(revision: Revision) -> tuple[str, str]:
    """README.md of a version and its git object id; both "" without one.

    Raises ``Invalid``: ``invalid_card`` if it is not text, or too long to be edited.
    """
    file = revision.files.select_related("blob").filter(path=README).first()
    if file is None:
        return "", ""
    check_size(file.blob.size_bytes)
    with blob_open(file.blob) as stream:
        data = stream.read()
    parse(data)
    return data.decode(), file.oid


def _with_readme(description: Description, prefilled: PrefilledAnswers, readme: str) -> Description:
    """The description, with the file README.md added where saving would create it."""
    if prefilled.readme_oid or not readme:
        return description
    data = readme.encode()
    file = FileDescription(
        path=README,
        url=repository_address(prefilled.mlmodel).file(prefilled.revision.oid, README),
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        media_type=media_type(README),
        role=role(README),
    )
    return replace(description, files=(*description.files, file))


def kind_of(mlmodel: MLModel) -> ResourceKind:
    """The kind of ``mlmodel``, which selects the questions."""
    return "dataset" if mlmodel.kind == RepositoryKind.DATASET else "model"


def _heading(card: Card) -> str:
    first = next(iter(sections_of(card.body)), None)
    if first is None or first.level != 1 or _MARKUP.intersection(first.title):
        return ""
    return first.title.strip()


def _license(revision: Revision) -> str:
    license_id = recognise(license_text(revision))
    # A trailing hyphen: the text does not say whether later versions may be chosen.
    return "" if license_id.endswith("-") else license_id.lower()


def _profile(actor: Actor) -> tuple[Creator, ...]:
    user = person(actor)
    if user is None or not user.full_name:
        return ()
    return (
        Creator(
            name=user.full_name,
            orcid=user.orcid,
            affiliation=user.affiliation,
            ror=user.affiliation_ror if user.affiliation else "",
        ),
    )
