"""Identifiers of a version, and of all its versions together, in a crate."""

from typing import Any

from registry.fair.ark import TEST_NOTE, is_test
from registry.fair.crate.graph import CrateGraph, compact
from registry.fair.description import Description

#: Terms that RO-Crate's context lacks.
TERMS = {"isVersionOf": "http://purl.org/dc/terms/isVersionOf"}
_REGISTRY = "https://registry.identifiers.org/registry"


def identification(graph: CrateGraph, description: Description, root: str) -> dict[str, Any]:
    """Identifiers as properties of the entity ``root``."""
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
                description=TEST_NOTE if url and is_test(url) else None,
            )
            for key, name, value, url in identifiers
            if value
        ),
        # A text unless it is the root: every referenced entity would have to be described.
        "cite-as": {"@id": cite_as} if cite_as == root else cite_as,
        "isVersionOf": graph.add(
            description.concept_pid,
            "CreativeWork",
            name=f"{description.title}: all versions",
            url=description.concept_landing,
        ),
    }
