"""What the card leads to: papers, code, data sets, and what the network was made from."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import get_args

from registry.fair.card.values import CardReader, CardValue
from registry.fair.parts import DatasetRole, DatasetUse, Reference, RelationName
from registry.validation.findings import InvalidValue, nearest
from registry.validation.references import arxiv_url, doi_url, reference_url, web_address

#: Tags of the Hugging Face Hub that name a publication.
PAPER_TAGS = {"arxiv:": arxiv_url, "doi:": doi_url}
_DATASETS: dict[str, DatasetRole] = {
    "datasets": "trained",
    "validation_datasets": "validated",
    "test_datasets": "tested",
}
_PAPER = ("url", "doi", "arxiv", "title")
_MAX_NAME = 500
_SPELLINGS: dict[str, RelationName] = {
    "finetuned": "finetune",
    "quantised": "quantized",
    "quantization": "quantized",
    "quantisation": "quantized",
    "merged": "merge",
}
_RELATIONS: tuple[RelationName, ...] = get_args(RelationName)
_MAX_ANCESTORS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A network that this one was made from.

    Attributes:
        source: ``namespace/name`` as the card writes it, or an address.
        relation: ``None`` where the card does not tell.
        revision: What stands behind ``@``: a branch, a tag or a commit.
    """

    source: str
    relation: RelationName | None = None
    revision: str | None = None
    url: str | None = None


def papers_of(notes: CardReader) -> tuple[Reference, ...]:
    """The publications of ``papers``, of ``arxiv:`` and ``doi:`` tags and of ``doi``, each once.

    A ``doi`` is one of them because it is no identifier of the version: the next one says it, too.
    """
    found = [paper for item in notes.top("papers").items() if (paper := _paper_of(item))]
    for item in notes.top("tags").items():
        tag = str(item.value).strip()
        check = next((check for lead, check in PAPER_TAGS.items() if is_lead(tag, lead)), None)
        url = item.checked(check) if check else None
        found += [Reference(url=url)] if url else []
    url = notes.top("doi").checked(doi_url)
    found += [Reference(url=url)] if url else []
    once: dict[str, Reference] = {}
    for paper in found:
        once.setdefault(paper.url.casefold(), paper)
    return tuple(once.values())


def code_of(place: CardValue) -> Reference | None:
    """The repository of the code that made it."""
    url = (place.entry("url") if isinstance(place.value, dict) else place).checked(web_address)
    return Reference(url=url, title=place.entry("title").text()) if url else None


def datasets_of(notes: CardReader) -> tuple[DatasetUse, ...]:
    """The data sets it was trained on, validated with and tested on."""
    found = [
        use
        for key, role in _DATASETS.items()
        for item in notes.top(key).items()
        if (use := _dataset_of(item, role))
    ]
    return tuple(dict.fromkeys(found))


def bases_of(
    notes: CardReader, repository: str, parents: Callable[[str], Iterable[str]]
) -> tuple[Base, ...]:
    """The networks of ``base_model``, but those that were made from ``repository`` itself.

    Args:
        parents: The base models of a network by its name; none for one that is not known.
    """
    items = notes.top("base_model").items()
    relation = _relation_of(notes, len(items))
    # Who answers may have to ask a database, and bases share ancestors.
    ask_once = cache(lambda name: tuple(parents(name)))
    found = []
    for item in items:
        base = _base_of(item, relation)
        if base is None:
            continue
        circle = circular(repository, base.source, ask_once)
        if circle:
            item.note(
                "base_model_circular",
                f"The base model leads back to itself: {' from '.join(circle)}.",
                "Name the network that this one was truly made from.",
            )
            continue
        found.append(base)
    return tuple(dict.fromkeys(found))


def circular(name: str, base: str, parents: Callable[[str], Iterable[str]]) -> list[str]:
    """The way from ``name`` over ``base`` and what that was made from back to ``name``.

    Empty where there is none, or none among the nearest :data:`_MAX_ANCESTORS`. Names are the same
    in whatever letters.
    """
    goal = name.casefold()
    ways = deque([[name, base]] if name else [])
    seen: set[str] = set()
    while ways and len(seen) < _MAX_ANCESTORS:
        way = ways.popleft()
        last = way[-1].casefold()
        if last == goal:
            return way
        if last not in seen:
            seen.add(last)
            ways.extend([*way, parent] for parent in parents(way[-1]))
    return []


def is_lead(tag: str, lead: str) -> bool:
    """Whether a tag begins with ``arxiv:`` and the like, in whatever letters."""
    return tag.casefold().startswith(lead)


def _paper_of(place: CardValue) -> Reference | None:
    if not isinstance(place.value, dict):
        return _reference_of(place)
    place.only(_PAPER)
    keys = [key for key in ("doi", "arxiv", "url") if place.entry(key).value not in (None, "")]
    if not keys:
        place.note("url_missing", f"{place.field} has no address.", "Add 'url: ...' or 'doi: ...'.")
        return None
    found = _reference_of(place.entry(keys[0]))
    return Reference(url=found.url, title=place.entry("title").text()) if found else None


def _reference_of(place: CardValue) -> Reference | None:
    if isinstance(place.value, float):
        # 2001.10 and 2001.1 are two papers and one number.
        message = f"{place.field} is a number in YAML, which loses zeros at its end."
        place.note("value_form", message, "Put the identifier in quotes.")
        return None
    url = place.checked(reference_url)
    return Reference(url=url) if url else None


def _dataset_of(place: CardValue, role: DatasetRole) -> DatasetUse | None:
    name = place.text(_MAX_NAME)
    if name is None:
        return None
    if name.startswith(("http://", "https://")):
        url = place.checked(reference_url)
        if url is None:
            return None
        is_pid = url.startswith("https://doi.org/") or "/ark:" in url
        return DatasetUse(name=name, role=role, url=url, pid=url if is_pid else None)
    try:
        doi = doi_url(name)
    except InvalidValue:
        return DatasetUse(name=name, role=role)
    return DatasetUse(name=name, role=role, url=doi, pid=doi)


def _base_of(place: CardValue, relation: RelationName | None) -> Base | None:
    text = place.text(_MAX_NAME)
    if text is None:
        return None
    if text.startswith(("http://", "https://")):
        url = place.checked(reference_url)
        return Base(source=text, relation=relation, url=url) if url else None
    name, _, revision = text.partition("@")
    if not name.strip():
        place.note("name_missing", f"{text!r} names no model.", "Write namespace/name@revision.")
        return None
    return Base(source=name.strip(), relation=relation, revision=revision.strip() or None)


def _relation_of(notes: CardReader, bases: int) -> RelationName | None:
    """``base_model_relation``, else what the card's tags and library tell for certain."""
    place = notes.top("base_model_relation")
    given = place.checked(_relation)
    if place.value is not None:
        return next((relation for relation in _RELATIONS if relation == given), None)
    tags = {tag.casefold() for tag in notes.card.tags}
    if bases > 1 or tags & {"merge", "mergekit"}:
        return "merge"
    return "adapter" if notes.card.library.casefold() == "peft" else None


def _relation(text: str) -> str:
    word = text.strip().casefold().replace("-", "").replace("_", "")
    relation = _SPELLINGS.get(word, word)
    if relation not in _RELATIONS:
        raise InvalidValue(
            "relation_unknown",
            f"{text[:100]!r} is no way in which one network comes from another.",
            f"{nearest(word, _RELATIONS)}Known are: {', '.join(_RELATIONS)}.",
        )
    return relation
