"""What a version is known by: its own identifiers, and that of all versions together."""

from typing import Any

from registry.fair.crate.graph import CrateGraph, compact
from registry.fair.description import Description

#: RO-Crate's context has no word for the whole that a version is one of.
TERMS = {"isVersionOf": "http://purl.org/dc/terms/isVersionOf"}
_REGISTRY = "https://registry.identifiers.org/registry"


def identification(graph: CrateGraph, description: Description, root: str) -> dict[str, Any]:
    """As properties of the entity ``root``."""
    cite_as = description.pid
    identifiers = [
        ("#ark", "ARK", description.pid, description.pid),
        ("#doi", "DOI", description.doi, description.doi),
        ("#swh", "SWHID of the files", description.swhid, None),
        ("#swh-commit", "SWHID of the commit", description.swhid_revision, None),
    ]
    return {
        "identifier": compact(
            graph.add(
                key,
                "PropertyValue",
                name=name,
                propertyID=f"{_REGISTRY}/{key[1:4]}",
                value=value,
                url=url,
            )
            for key, name, value, url in identifiers
            if value
        ),
        # A reference to the root itself; a reference to anything else would have to describe it.
        "cite-as": {"@id": cite_as} if cite_as == root else cite_as,
        "isVersionOf": graph.add(
            description.concept_pid,
            "CreativeWork",
            name=f"{description.title}: all versions",
            url=description.concept_landing,
        ),
    }
