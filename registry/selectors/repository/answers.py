"""What is asked about a model or a data set: as far as the hub can answer, and what that is worth.

See :mod:`registry.fair.card.answers`. Answers that no card gives are found elsewhere, and stand in
the card only once somebody has looked at them and saved them.
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
from registry.selectors.storage.blob import blob_open
from registry.states import RepositoryKind
from registry.tables import MLModel, Revision
from registry.validation.card import Card, check_size, parse
from registry.validation.findings import CardFinding
from registry.validation.license_text import recognise
from registry.validation.sections import sections_of

README = "README.md"
#: Keys of a card by which answers are given, and its text.
_ANSWERED = frozenset(
    {
        *("model_name", "title", "pretty_name", "license", "license_name", "license_link"),
        *("authors", "pipeline_tag", "datasets", "intended_use", "description"),
    }
)
# A heading with one of these is more than a name.
_MARKUP = frozenset("<[`*")


@dataclass(frozen=True, slots=True)
class Known:
    """What can be answered about the newest version of a default branch.

    Attributes:
        readme: README.md, "" where there is none; ``readme_oid`` is git's id of it.
        answers: As the card gives them, else as they were found elsewhere.
        found_in: Question to where its answer was found, if that is not the card.
    """

    mlmodel: MLModel
    revision: Revision
    readme: str
    readme_oid: str
    card: Card
    answers: Answers
    found_in: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Draft:
    """What would become of a version with certain answers.

    Attributes:
        findings: What would be wrong in them.
        score: What an assessor would find.
    """

    readme: str
    findings: tuple[CardFinding, ...]
    score: Score


def answers_known(actor: Actor, mlmodel: MLModel) -> Known:
    """What is asked, answered as far as may be.

    Args:
        actor: Who is asked: the creator, as long as none is named.
        mlmodel: One the actor may read, with its namespace.

    Raises:
        Invalid: ``invalid_card``, of what README.md is.
    """
    revision = revision_get(mlmodel)
    revision.mlmodel = mlmodel
    readme, oid = readme_at(revision)
    card = parse(readme.encode())
    answers = answers_of(card)
    elsewhere: dict[str, tuple[Any, str]] = {
        "title": (_heading(card), "the first heading of README.md"),
        "license": (_license(revision), "the file LICENSE"),
        "creators": (_oneself(actor), "your profile"),
        "task": (Details(mlmodel, revision).task, "the architecture in config.json"),
    }
    found = {
        question: elsewhere[question]
        for question in QUESTIONS[kind_of(mlmodel)]
        if question in elsewhere and elsewhere[question][0] and not getattr(answers, question)
    }
    answers = replace(answers, **{question: value for question, (value, _) in found.items()})
    places = {question: place for question, (_, place) in found.items()}
    return Known(mlmodel, revision, readme, oid, card, answers, places)


def draft_of(known: Known, answers: Answers) -> Draft:
    """What would become of the version with these answers; nothing is written.

    Raises:
        Invalid: ``invalid_card``, of what README.md would become.
    """
    mlmodel = known.mlmodel
    readme = applied(known.readme, answers, kind_of(mlmodel), name=mlmodel.name)
    description = _with_readme(describe(known.revision), known, readme)
    files = {file.path: file.url for file in description.files}
    before = read(known.card, files=files)
    after = read(parse(readme.encode()), files=files)
    after = replace(after, datasets=describe_datasets(after.datasets, mlmodel))
    score = assess(expected_of(redescribed(description, before, after)))
    findings = tuple(
        one
        for one in findings_in(readme.encode(), repository=mlmodel.full_name)
        if one.field.partition(".")[0].partition("[")[0] in _ANSWERED
    )
    return Draft(readme, findings, score)


def readme_at(revision: Revision) -> tuple[str, str]:
    """README.md of a version and git's id of it; twice "" where there is none.

    Raises:
        Invalid: ``invalid_card``: it is no text, or too long to be edited.
    """
    file = revision.files.select_related("blob").filter(path=README).first()
    if file is None:
        return "", ""
    check_size(file.blob.size_bytes)
    with blob_open(file.blob) as stream:
        data = stream.read()
    parse(data)
    return data.decode(), file.oid


def _with_readme(description: Description, known: Known, readme: str) -> Description:
    """The description with a file README.md, of which there will be one."""
    if known.readme_oid or not readme:
        return description
    data = readme.encode()
    file = FileDescription(
        path=README,
        url=repository_address(known.mlmodel).file(known.revision.oid, README),
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        media_type=media_type(README),
        role=role(README),
    )
    return replace(description, files=(*description.files, file))


def kind_of(mlmodel: MLModel) -> ResourceKind:
    """Which questions are asked."""
    return "dataset" if mlmodel.kind == RepositoryKind.DATASET else "model"


def _heading(card: Card) -> str:
    first = next(iter(sections_of(card.body)), None)
    if first is None or first.level != 1 or _MARKUP.intersection(first.title):
        return ""
    return first.title.strip()


def _license(revision: Revision) -> str:
    found = recognise(license_text(revision))
    # Some texts do not tell whether later versions may be chosen.
    return "" if found.endswith("-") else found.lower()


def _oneself(actor: Actor) -> tuple[Creator, ...]:
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
