"""What a card says, field by field of a :class:`~registry.fair.description.Description`.

What is faulty is told as a finding and left out, the rest is taken: a card that cannot be read in
one place is still read in all others, and no finding keeps a model from being published or loaded.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from registry.errors import Invalid
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
from registry.fair.card.results import emissions_of, evaluations_of
from registry.fair.card.texts import TEXT_KEYS, description_of, texts_of
from registry.fair.card.values import CardReader, clean
from registry.fair.parts import (
    Agent,
    DatasetUse,
    Emissions,
    Evaluation,
    Funding,
    License,
    Reference,
)
from registry.validation.card import Card
from registry.validation.findings import CardFinding
from registry.validation.language import language_code
from registry.validation.license import license_missing, license_of, simple_ids
from registry.validation.references import web_address

#: All keys that are read here; what else a card holds is handed on as ``unknown``.
KEYS = frozenset(
    {
        *TEXT_KEYS,
        *("model_name", "title", "pretty_name", "pipeline_tag", "library_name", "tags", "language"),
        *("license", "license_name", "license_link", "extra_gated_prompt"),
        *("authors", "contributors", "contact", "funding", "version", "doi", "code", "papers"),
        *("datasets", "validation_datasets", "test_datasets", "base_model", "base_model_relation"),
        *("model-index", "co2_eq_emissions"),
    }
)
#: Where the text of a license stands; the first that is there is it.
LICENSE_FILES = ("LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING")
_MAX_VERSION = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """The card's part of a description; ``None`` and empty where it says nothing.

    Attributes:
        unknown: Keys that are not read here, as given.
        findings: By line.
    """

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
    evaluations: tuple[Evaluation, ...]
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
        repository: ``namespace/name`` of what the card is of.
        parents: The base models of a network by its name; see :func:`.card_links.bases_of`.
        files: Path to address of the version's files, if they are known: a license's text may be
            one of them.
    """
    notes = CardReader(card)
    creators = agents_of(notes.top("authors"))
    contributors = agents_of(notes.top("contributors"))
    texts = texts_of(notes)
    return CardFacts(
        title=clean(card.title) or notes.top("pretty_name").text() or None,
        description=description_of(notes),
        body=card.body,
        version=_version(notes),
        creators=creators,
        contributors=contributors,
        contact=contact_of(notes.top("contact"), (*creators, *contributors)),
        funding=fundings_of(notes.top("funding")),
        license=_license(notes, files),
        use_restrictions=texts["use_restrictions"] or notes.top("extra_gated_prompt").text(),
        keywords=_keywords(notes),
        languages=_languages(notes),
        task=clean(card.task) or None,
        library=clean(card.library) or None,
        datasets=datasets_of(notes),
        evaluations=evaluations_of(notes.top("model-index")),
        intended_use=texts["intended_use"],
        out_of_scope=texts["out_of_scope"],
        limitations=texts["limitations"],
        ethics=texts["ethics"],
        usage=texts["usage"],
        code=code_of(notes.top("code")),
        papers=papers_of(notes),
        bases=bases_of(notes, repository, parents),
        emissions=emissions_of(notes.top("co2_eq_emissions")),
        unknown={key: value for key, value in card.values.items() if key not in KEYS},
        # An entry that two readers pass is told once.
        findings=tuple(sorted(dict.fromkeys(notes.findings), key=lambda found: found.line)),
    )


def _version(notes: CardReader) -> str | None:
    place = notes.top("version")
    if isinstance(place.value, float):
        place.note(
            "version_number",
            "The version is a number in YAML, to which 1.10 and 1.1 are the same.",
            f"Put it in quotes, such as '{place.value}'.",
            "warning",
        )
    return place.text(_MAX_VERSION)


def _keywords(notes: CardReader) -> tuple[str, ...]:
    tags = dict.fromkeys(notes.texts("tags"))
    return tuple(tag for tag in tags if not any(is_lead(tag, lead) for lead in PAPER_TAGS))


def _languages(notes: CardReader) -> tuple[str, ...]:
    codes = [item.checked(language_code) for item in notes.top("language").items()]
    return tuple(dict.fromkeys(code for code in codes if code))


def _license(notes: CardReader, files: Mapping[str, str] | None) -> License | None:
    place = notes.top("license")
    try:
        expression = license_of(notes.card.values)
    except Invalid as error:
        place.note(error.code, error.detail, error.hint)
        return None
    if not expression:
        if str(place.value).lower() == "other":
            missing = license_missing(notes.card.values)
            place.note(missing.code, missing.detail, missing.hint)
        return None
    ids = simple_ids(expression)
    own = [one for one in ids if "LicenseRef-" in one]
    link = _license_link(notes, files)
    uris = [f"https://spdx.org/licenses/{one}" if one not in own else link for one in ids]
    name = notes.top("license_name").text() or ", ".join(notes.texts("license"))
    return License(
        expression=expression,
        uris=tuple(dict.fromkeys(uri for uri in uris if uri)),
        name=name if own else None,
    )


def _license_link(notes: CardReader, files: Mapping[str, str] | None) -> str | None:
    """The address of the text of a license that SPDX does not list."""
    place = notes.top("license_link")
    text = place.text()
    known = files or {}
    if text is None:
        return next((known[path] for path in LICENSE_FILES if path in known), None)
    path = text.removeprefix("./")
    if path in known:
        return known[path]
    if "://" in text:
        return place.checked(web_address)
    if files is not None:
        place.note(
            "license_link_missing",
            f"There is no file {text[:100]!r} to read the license in.",
            "Add the file, or write the address of the license's text.",
        )
    return None
