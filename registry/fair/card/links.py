"""Links of a card: papers, code, data sets and base models."""

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
#: Only the hub records an import.
_RELATIONS: tuple[RelationName, ...] = tuple(
    name for name in get_args(RelationName) if name != "import"
)
_MAX_ANCESTORS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A base model: ``namespace/name`` as in the card, or an address. ``relation`` is ``None`` if
    unspecified; ``revision`` is the branch, tag or commit after ``@``."""

    source: str
    relation: RelationName | None = None
    revision: str | None = None
    url: str | None = None


def papers_of(reader: CardReader) -> tuple[Reference, ...]:
    """Publications in ``papers``, ``arxiv:`` and ``doi:`` tags and ``doi``, without repetitions.

    ``doi`` identifies no version, since later versions repeat it, and so counts as a publication.
    """
    papers = [paper for item in reader.top("papers").items() if (paper := _paper_of(item))]
    for item in reader.top("tags").items():
        tag = str(item.value).strip()
        check = next((check for lead, check in PAPER_TAGS.items() if is_lead(tag, lead)), None)
        url = item.checked(check) if check else None
        papers += [Reference(url=url)] if url else []
    url = reader.top("doi").checked(doi_url)
    papers += [Reference(url=url)] if url else []
    unique: dict[str, Reference] = {}
    for paper in papers:
        unique.setdefault(paper.url.casefold(), paper)
    return tuple(unique.values())


def code_of(value: CardValue) -> Reference | None:
    """The code repository."""
    url = (value.entry("url") if isinstance(value.value, dict) else value).checked(web_address)
    return Reference(url=url, title=value.entry("title").text()) if url else None


def datasets_of(reader: CardReader) -> tuple[DatasetUse, ...]:
    """Data sets for training, validation and tests."""
    uses = [
        use
        for key, role in _DATASETS.items()
        for item in reader.top(key).items()
        if (use := _dataset_of(item, role))
    ]
    return tuple(dict.fromkeys(uses))


def bases_of(
    reader: CardReader, repository: str, parents: Callable[[str], Iterable[str]]
) -> tuple[Base, ...]:
    """The networks of ``base_model``; those derived from ``repository`` itself become findings.
    ``parents`` returns the base models of a network by its name; none for unknown networks."""
    items = reader.top("base_model").items()
    relation = _relation_of(reader, len(items))
    # ``parents`` may query a database, and bases share ancestors.
    cached_parents = cache(lambda name: tuple(parents(name)))
    bases = []
    for item in items:
        base = _base_of(item, relation)
        if base is None:
            continue
        circle = circular(repository, base.source, cached_parents)
        if circle:
            item.note(
                "base_model_circular",
                f"The base models form a circle: {' from '.join(circle)}.",
                "Name the network that this one was derived from.",
            )
            continue
        bases.append(base)
    return tuple(dict.fromkeys(bases))


def circular(name: str, base: str, parents: Callable[[str], Iterable[str]]) -> list[str]:
    """The path from ``name`` over ``base`` and its ancestors back to ``name``, ignoring case; empty
    if there is none among the nearest :data:`_MAX_ANCESTORS` ancestors."""
    goal = name.casefold()
    paths = deque([[name, base]] if name else [])
    visited: set[str] = set()
    while paths and len(visited) < _MAX_ANCESTORS:
        path = paths.popleft()
        last = path[-1].casefold()
        if last == goal:
            return path
        if last not in visited:
            visited.add(last)
            paths.extend([*path, parent] for parent in parents(path[-1]))
    return []


def is_lead(tag: str, lead: str) -> bool:
    """Whether a tag has the prefix ``lead``, such as ``arxiv:``, ignoring case."""
    return tag.casefold().startswith(lead)


def _paper_of(value: CardValue) -> Reference | None:
    if not isinstance(value.value, dict):
        return _reference_of(value)
    value.only(_PAPER)
    keys = [key for key in ("doi", "arxiv", "url") if value.entry(key).value not in (None, "")]
    if not keys:
        value.note("url_missing", f"{value.field} has no address.", "Add 'url: ...' or 'doi: ...'.")
        return None
    paper = _reference_of(value.entry(keys[0]))
    return Reference(url=paper.url, title=value.entry("title").text()) if paper else None


def _reference_of(value: CardValue) -> Reference | None:
    if isinstance(value.value, float):
        # 2001.10 and 2001.1 are different papers, but equal numbers.
        message = f"{value.field} is a number in YAML, where final zeros are lost."
        value.note("value_form", message, "Put the identifier in quotes.")
        return None
    url = value.checked(reference_url)
    return Reference(url=url) if url else None


def _dataset_of(value: CardValue, role: DatasetRole) -> DatasetUse | None:
    name = value.text(_MAX_NAME)
    if name is None:
        return None
    if name.startswith(("http://", "https://")):
        url = value.checked(reference_url)
        if url is None:
            return None
        is_pid = url.startswith("https://doi.org/") or "/ark:" in url
        return DatasetUse(name=name, role=role, url=url, pid=url if is_pid else None)
    try:
        doi = doi_url(name)
    except InvalidValue:
        return DatasetUse(name=name, role=role)
    return DatasetUse(name=name, role=role, url=doi, pid=doi)


def _base_of(value: CardValue, relation: RelationName | None) -> Base | None:
    text = value.text(_MAX_NAME)
    if text is None:
        return None
    if text.startswith(("http://", "https://")):
        url = value.checked(reference_url)
        return Base(source=text, relation=relation, url=url) if url else None
    name, _, revision = text.partition("@")
    if not name.strip():
        value.note("name_missing", f"{text!r} names no model.", "Write namespace/name@revision.")
        return None
    return Base(source=name.strip(), relation=relation, revision=revision.strip() or None)


def _relation_of(reader: CardReader, bases: int) -> RelationName | None:
    """``base_model_relation``, else the relation that tags and library imply."""
    value = reader.top("base_model_relation")
    stated = value.checked(_relation)
    if value.value is not None:
        return next((relation for relation in _RELATIONS if relation == stated), None)
    tags = {tag.casefold() for tag in reader.card.tags}
    if bases > 1 or tags & {"merge", "mergekit"}:
        return "merge"
    return "adapter" if reader.card.library.casefold() == "peft" else None


def _relation(text: str) -> str:
    word = text.strip().casefold().replace("-", "").replace("_", "")
    relation = _SPELLINGS.get(word, word)
    if relation not in _RELATIONS:
        raise InvalidValue(
            "relation_unknown",
            f"{text[:100]!r} is not a relation between networks.",
            f"{nearest(word, _RELATIONS)}Supported relations: {', '.join(_RELATIONS)}.",
        )
    return relation
