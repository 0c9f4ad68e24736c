"""Related identifiers of a version with DataCite 4.7's relation types (appendix A, table 9).
Related resources without an address are left out."""

from collections.abc import Iterator
from typing import NamedTuple

from registry.fair.description import Description
from registry.fair.iris import identifier_of
from registry.fair.parts import RelationName

#: DataCite's relation types of copies and of the same network in another form; all other relations
#: make a new work.
_SOURCES: dict[RelationName, str] = {
    "copy": "IsIdenticalTo",
    "quantized": "IsVariantFormOf",
    "exported": "IsVariantFormOf",
    "compiled": "IsVariantFormOf",
}


class _Link(NamedTuple):
    relation: str
    address: str
    resource_type: str | None = None


def related(description: Description) -> list[dict[str, str]]:
    """``relatedIdentifiers`` without repetitions."""
    links = dict.fromkeys(
        (
            *_versions(description),
            *_sources(description),
            *_literature(description),
            *_results(description),
        )
    )
    return [_identifier(link) for link in links]


def _identifier(link: _Link) -> dict[str, str]:
    scheme, value = identifier_of(link.address)
    identifier = {
        "relatedIdentifier": value,
        "relatedIdentifierType": scheme,
        "relationType": link.relation,
    }
    if link.resource_type:
        identifier["resourceTypeGeneral"] = link.resource_type
    return identifier


def _versions(description: Description) -> Iterator[_Link]:
    """All versions together, the identifier of the files, and the adjacent versions."""
    yield _Link("IsVersionOf", description.concept_pid)
    yield _Link("IsIdenticalTo", description.swhid)
    yield from (_Link("IsIdenticalTo", one, "Model") for one in description.alternates)
    versions = description.versions
    if description.pid in versions:
        at = versions.index(description.pid)
        yield from (_Link("IsNewVersionOf", older) for older in versions[at + 1 : at + 2])
        yield from (_Link("IsPreviousVersionOf", newer) for newer in versions[max(at - 1, 0) : at])


def _sources(description: Description) -> Iterator[_Link]:
    for source in description.derived_from:
        relation = _SOURCES.get(source.relation, "IsDerivedFrom")
        if address := source.pid or source.url:
            yield _Link(relation, address, "Model" if description.kind == "model" else "Dataset")
    for dataset in description.datasets:
        relation = "IsDerivedFrom" if dataset.role == "trained" else "References"
        if address := dataset.pid or dataset.url:
            yield _Link(relation, address, "Dataset")


def _literature(description: Description) -> Iterator[_Link]:
    if description.code:
        yield _Link("IsSupplementTo", description.code.url, "Software")
    yield from (_Link("IsDescribedBy", paper.url) for paper in description.papers)


def _results(description: Description) -> Iterator[_Link]:
    """Requirements, builds and their measurements, which are deleted with a withdrawn version."""
    if description.is_withdrawn:
        return
    for file in description.files:
        if file.role == "environment":
            yield _Link("Requires", file.url)
    for build in description.builds:
        yield _Link("IsOriginalFormOf", build.url, "Model")
        yield _Link("HasPart", build.benchmark.url, "Dataset")
    for one in description.repetitions:
        yield _Link("HasPart", one.url, "Dataset")
