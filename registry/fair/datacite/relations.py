"""How a version stands to other things, in DataCite 4.7's relation types (its appendix A, table 9).

What has no address is left out: a related identifier without one says nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

from registry.fair.description import Description
from registry.fair.iris import identifier_of
from registry.fair.parts import RelationName

#: The same network in another form; everything else is a new work made of an old one.
_VARIANTS: frozenset[RelationName] = frozenset({"quantized", "exported", "compiled"})


class _Link(NamedTuple):
    relation: str
    address: str
    resource_type: str | None = None


def related(description: Description) -> list[dict[str, str]]:
    """``relatedIdentifiers``, each pair of relation and identifier once."""
    links = dict.fromkeys(
        (
            *_versions(description),
            *_sources(description),
            *_literature(description),
            *_results(description),
        )
    )
    return [_written(link) for link in links]


def _written(link: _Link) -> dict[str, str]:
    scheme, value = identifier_of(link.address)
    written = {
        "relatedIdentifier": value,
        "relatedIdentifierType": scheme,
        "relationType": link.relation,
    }
    if link.resource_type:
        written["resourceTypeGeneral"] = link.resource_type
    return written


def _versions(description: Description) -> Iterator[_Link]:
    """The concept, the files' own identifier, and the neighbours among the versions."""
    yield _Link("IsVersionOf", description.concept_pid)
    yield _Link("IsIdenticalTo", description.swhid)
    versions = description.versions
    if description.pid in versions:
        at = versions.index(description.pid)
        yield from (_Link("IsNewVersionOf", older) for older in versions[at + 1 : at + 2])
        yield from (_Link("IsPreviousVersionOf", newer) for newer in versions[max(at - 1, 0) : at])


def _sources(description: Description) -> Iterator[_Link]:
    for source in description.derived_from:
        relation = "IsVariantFormOf" if source.relation in _VARIANTS else "IsDerivedFrom"
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
    """What it needs to run, what was built of it, and how that was measured."""
    for file in description.files:
        if file.role == "environment":
            yield _Link("Requires", file.url)
    for build in description.builds:
        yield _Link("IsOriginalFormOf", build.url, "Model")
        yield _Link("HasPart", build.benchmark.url, "Dataset")
    for one in description.repetitions:
        yield _Link("HasPart", one.url, "Dataset")
