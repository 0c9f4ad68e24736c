"""Reads a card into the fields of a :class:`~registry.fair.description.Description`.

A faulty value becomes a finding and is left out; all other values are read. No finding prevents
publication or loading of a model.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from registry.errors import Invalid
from registry.fair.card.keys import CARD_KEYS
from registry.fair.card.links import (
    PAPER_TAGS,
    Base,
    bases_of,
    code_of,
    datasets_of,
    is_lead,
    papers_of,
)
from registry.fair.card.people import agents_of, contact_of, fundings_of
from registry.fair.card.results import emissions_of, results_of
from registry.fair.card.texts import description_of, texts_of
from registry.fair.card.values import CardReader, clean
from registry.fair.parts import (
    Agent,
    DatasetUse,
    Emissions,
    Funding,
    License,
    QualityEvaluation,
    Reference,
)
from registry.validation.card import Card
from registry.validation.findings import CardFinding
from registry.validation.license import license_missing, license_of, simple_ids
from registry.validation.references import web_address
from registry.validation.vocabularies import language_code

#: Names of licence files, by precedence.
LICENSE_FILES = ("LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING")
_MAX_VERSION = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """The card's part of a description; absent values are ``None`` or empty. ``unknown`` holds
    unsupported keys with their values; ``findings`` are sorted by line."""

    title: str | None
    description: str | None
    body: str
    version: str | None
    creators: tuple[Agent, ...]
    contributors: tuple[Agent, ...]
    contact: Agent | None
    funding: tuple[Funding, ...]
    license: License | None
    use_restrictions: str | None
    keywords: tuple[str, ...]
    languages: tuple[str, ...]
    task: str | None
    library: str | None
    datasets: tuple[DatasetUse, ...]
    model_index: tuple[dict[str, Any], ...]
    evaluations: tuple[QualityEvaluation, ...]
    intended_use: str | None
    out_of_scope: str | None
    limitations: str | None
    ethics: str | None
    usage: str | None
    code: Reference | None
    papers: tuple[Reference, ...]
    bases: tuple[Base, ...]
    emissions: Emissions | None
    unknown: dict[str, Any]
    findings: tuple[CardFinding, ...]


def _without_parents(_name: str) -> Iterable[str]:
    return ()


def read(
    card: Card,
    *,
    repository: str = "",
    parents: Callable[[str], Iterable[str]] = _without_parents,
    files: Mapping[str, str] | None = None,
) -> CardFacts:
    """Read a card.

    Args:
        repository: ``namespace/name`` of the card's repository.
        parents: The base models of a network by its name; see
            :func:`registry.fair.card.links.bases_of`.
        files: Path to address of the version's files, if known; the licence may be one of them.
    """
    reader = CardReader(card)
    creators = agents_of(reader.top("authors"))
    contributors = agents_of(reader.top("contributors"))
    texts = texts_of(reader)
    model_index, evaluations = results_of(reader.top("model-index"))
    return CardFacts(
        title=clean(card.title) or reader.top("pretty_name").text() or None,
        description=description_of(reader),
        body=card.body,
        version=_version(reader),
        creators=creators,
        contributors=contributors,
        contact=contact_of(reader.top("contact"), (*creators, *contributors)),
        funding=fundings_of(reader.top("funding")),
        license=_license(reader, files),
        use_restrictions=texts["use_restrictions"] or reader.top("extra_gated_prompt").text(),
        keywords=_keywords(reader),
        languages=_languages(reader),
        task=clean(card.task) or None,
        library=clean(card.library) or None,
        datasets=datasets_of(reader),
        model_index=model_index,
        evaluations=evaluations,
        intended_use=texts["intended_use"],
        out_of_scope=texts["out_of_scope"],
        limitations=texts["limitations"],
        ethics=texts["ethics"],
        usage=texts["usage"],
        code=code_of(reader.top("code")),
        papers=papers_of(reader),
        bases=bases_of(reader, repository, parents),
        emissions=emissions_of(reader.top("co2_eq_emissions")),
        unknown={key: value for key, value in card.values.items() if key not in CARD_KEYS},
        # Two functions may read the same entry.
        findings=tuple(sorted(dict.fromkeys(reader.findings), key=lambda one: one.line)),
    )


def version_of(card: Card) -> str | None:
    """The version that a card states."""
    return _version(CardReader(card))


def _version(reader: CardReader) -> str | None:
    value = reader.top("version")
    if isinstance(value.value, float):
        value.note(
            "version_number",
            "The version is a number in YAML, where 1.10 equals 1.1.",
            f"Put it in quotes, such as '{value.value}'.",
            "warning",
        )
    return value.text(_MAX_VERSION)


def _keywords(reader: CardReader) -> tuple[str, ...]:
    tags = dict.fromkeys(reader.texts("tags"))
    return tuple(tag for tag in tags if not any(is_lead(tag, lead) for lead in PAPER_TAGS))


def _languages(reader: CardReader) -> tuple[str, ...]:
    codes = [item.checked(language_code) for item in reader.top("language").items()]
    return tuple(dict.fromkeys(code for code in codes if code))


def _license(reader: CardReader, files: Mapping[str, str] | None) -> License | None:
    value = reader.top("license")
    try:
        expression = license_of(reader.card.values)
    except Invalid as error:
        value.note(error.code, error.detail, error.hint)
        return None
    if not expression:
        if str(value.value).lower() == "other":
            missing = license_missing(reader.card.values)
            value.note(missing.code, missing.detail, missing.hint)
        return None
    ids = simple_ids(expression)
    own = [one for one in ids if "LicenseRef-" in one]
    link = _license_link(reader, files)
    uris = [f"https://spdx.org/licenses/{one}" if one not in own else link for one in ids]
    name = reader.top("license_name").text() or ", ".join(reader.texts("license"))
    return License(
        expression=expression,
        uris=tuple(dict.fromkeys(uri for uri in uris if uri)),
        name=name if own else None,
    )


def _license_link(reader: CardReader, files: Mapping[str, str] | None) -> str | None:
    """Address of the text of a licence that SPDX does not list."""
    value = reader.top("license_link")
    text = value.text()
    urls = files or {}
    if text is None:
        return next((urls[path] for path in LICENSE_FILES if path in urls), None)
    path = text.removeprefix("./")
    if path in urls:
        return urls[path]
    if "://" in text:
        return value.checked(web_address)
    if files is not None:
        value.note(
            "license_link_missing",
            f"The license file {text[:100]!r} does not exist.",
            "Add the file, or write the address of the license's text.",
        )
    return None
