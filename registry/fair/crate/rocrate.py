"""A version as an RO-Crate 1.3, detached or with its files.

The root is the version. In the *detached* crate every entity has its web address; in the crate
*with files* (the ZIP), the version's files have their paths in the folder. Builds and the hub's
test tensors are not in the folder and have web addresses in both.

Sources: RO-Crate Metadata Specification 1.3, https://w3id.org/ro/crate/1.3, sections "Root Data
Entity", "Data Entities", "Provenance of entities"; Process Run Crate 0.5 for ``CreateAction``.
"""

import json
from typing import Any
from urllib.parse import quote

from registry.fair.crate.graph import (
    CrateGraph,
    Entity,
    compact,
    license_entities,
    local,
    people,
)
from registry.fair.crate.identity import TERMS, identification
from registry.fair.crate.provenance import actions, builds, circumstances, derivations, facts
from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.parts import METADATA_LICENSE, DatasetUse, FileDescription
from registry.fair.serialise import drop_empty

#: Profile for links and content negotiation, without a version as RO-Crate specifies.
PROFILE = "https://w3id.org/ro/crate"
VERSION = f"{PROFILE}/1.3"
#: Name of the metadata document in a folder.
DESCRIPTOR = "ro-crate-metadata.json"

_FAIR4ML = "https://w3id.org/fair4ml#"
_TERMS = (
    "MLModel", "ethicalSocial", "intendedUse", "mlTask", "modelCategory",
    "modelRisksBiasLimitations", "testedOn", "trainedOn", "usageInstructions", "validatedOn",
)  # fmt: skip
_CONTEXT = [f"{VERSION}/context", {term: f"{_FAIR4ML}{term}" for term in _TERMS} | TERMS]
_DATASET_TERMS = {
    "trained": "trainedOn",
    "validated": "validatedOn",
    "tested": "testedOn",
    "mentioned": "mentions",
}
_ROLES = {
    "model": "The model.",
    "weights": "Weights of the model.",
    "card": "The model card by its authors.",
    "config": "Configuration of the model.",
    "samples": "Samples for checks of the model.",
    "tests": "Test tensors: inputs with their expected outputs.",
    "licence": "Text of the licence.",
    "environment": "Software environment.",
    "other": "A file of this version.",
}
_STATUS = {"draft": "Draft", "public": "Published", "withdrawn": "Withdrawn"}
# Preview pages, which RO-Crate excludes from its data entities.
_PREVIEW = ("ro-crate-preview.html", "ro-crate-preview_files/")


def render(description: Description) -> bytes:
    """The detached crate."""
    return _bytes(document(description))


def render_with_files(description: Description) -> bytes:
    """``ro-crate-metadata.json`` of a folder with the version's files."""
    return _bytes(document(description, with_files=True))


def document(description: Description, *, with_files: bool = False) -> dict[str, Any]:
    """The crate. A file of the version with the descriptor's name has its web address."""
    graph = CrateGraph()
    root = "./" if with_files else description.pid
    values = _values(graph, description, root, with_files=with_files)
    about = {
        "@id": DESCRIPTOR,
        "@type": "CreativeWork",
        "about": {"@id": root},
        "conformsTo": {"@id": VERSION},
        "license": graph.add(
            METADATA_LICENSE,
            "CreativeWork",
            name="CC0 1.0 Universal",
            description="Licence of the metadata. That of the files is stated at the root.",
            url=METADATA_LICENSE,
        ),
    }
    entity = {"@id": root, "@type": _types(description)} | drop_empty(**values)
    return {"@context": _CONTEXT, "@graph": [about, entity, *graph.entities()]}


def _types(description: Description) -> str | list[str]:
    return ["Dataset", "MLModel"] if description.kind == "model" else "Dataset"


def _values(
    graph: CrateGraph, description: Description, root: str, *, with_files: bool
) -> dict[str, Any]:
    parts = {
        file.url: _file(graph, description, file, _identity(file, inside=with_files))
        for file in description.files
        if not file.path.startswith(_PREVIEW)
    }
    # The hub's own tests are not files of the version.
    for file in (*description.tests, *(f for build in description.builds for f in build.files)):
        if file.url not in parts:
            parts[file.url] = _file(graph, description, file, file.url)
    ids = {url: part["@id"] for url, part in parts.items()} | {description.pid: root}
    return (
        _citation(graph, description)
        | identification(graph, description, root)
        | people(graph, description)
        | _texts(description)
        | _datasets(graph, description)
        | {
            "hasPart": compact(parts.values()),
            "mentions": compact(
                [
                    *builds(graph, description, ids),
                    *actions(graph, description, ids),
                    *circumstances(graph, description),
                    *_mentioned(graph, description),
                    *_list_of_files(graph, description),
                ]
            ),
            "isBasedOn": compact(derivations(graph, description)),
            "wasDerivedFrom": compact(derivations(graph, description)),
            "variableMeasured": compact(facts(graph, description.network)),
        }
    )


def _identity(file: FileDescription, *, inside: bool) -> str:
    if not inside or file.path == DESCRIPTOR:
        return file.url
    # Non-ASCII letters stay; other characters are encoded, as a colon would start a scheme.
    return "".join(quote(one, safe="/") if one.isascii() else one for one in file.path)


def _file(
    graph: CrateGraph, description: Description, file: FileDescription, identity: str
) -> Entity:
    outside = identity == file.url
    return graph.add(
        identity,
        "File",
        name=file.path,
        description=_ROLES[file.role],
        contentSize=str(file.size_bytes),
        encodingFormat=file.media_type.replace("; ", ";"),
        sha256=file.sha256,
        contentUrl=file.content_url,
        sdDatePublished=description.modified.isoformat() if outside else None,
    )


def _citation(graph: CrateGraph, description: Description) -> dict[str, Any]:
    return {
        "name": description.title,
        "description": description.description or _default_description(description),
        "url": description.landing,
        "version": description.version,
        "dateCreated": description.created.isoformat(),
        "datePublished": description.published.isoformat(),
        "dateModified": description.modified.isoformat(),
        "creativeWorkStatus": _STATUS[description.status],
        "license": license_entities(graph, description),
        "citation": compact(
            graph.add(address, "ScholarlyArticle", name=paper.title or paper.url, url=address)
            for paper in description.papers
            if (address := iri(paper.url))
        ),
        "codeRepository": iri(description.code.url) if description.code else None,
    }


def _default_description(description: Description) -> str:
    return (
        f"Version {description.version} of the {description.kind} {description.repository}, "
        f"hosted by {description.hub.name}."
    )


def _texts(description: Description) -> dict[str, Any]:
    withdrawal = description.withdrawal
    return {
        "keywords": compact(description.keywords),
        "inLanguage": compact(description.languages),
        "mlTask": description.task,
        "modelCategory": compact(description.categories),
        "intendedUse": description.intended_use,
        "usageInstructions": compact(filter(None, (description.usage, description.snippet))),
        "modelRisksBiasLimitations": compact(
            filter(None, (description.limitations, description.out_of_scope))
        ),
        "ethicalSocial": description.ethics,
        "conditionsOfAccess": description.use_restrictions,
        "isAccessibleForFree": description.access == "open access",
        "expires": withdrawal.at.isoformat() if withdrawal else None,
        "correction": withdrawal.reason if withdrawal else None,
    }


def _datasets(graph: CrateGraph, description: Description) -> dict[str, Any]:
    return {
        term: compact(_dataset(graph, one) for one in description.datasets if one.role == role)
        for role, term in _DATASET_TERMS.items()
        if role != "mentioned"
    }


def _mentioned(graph: CrateGraph, description: Description) -> list[Entity]:
    return [_dataset(graph, one) for one in description.datasets if one.role == "mentioned"]


def _list_of_files(graph: CrateGraph, description: Description) -> list[Entity]:
    """The list of all files, where the crate describes only some of them."""
    if description.omission is None or description.is_withdrawn:
        return []
    return [
        graph.add(
            description.file_list_url,
            "CreativeWork",
            name="List of all files",
            description=description.omission,
            url=description.file_list_url,
            encodingFormat="application/json",
        )
    ]


def _dataset(graph: CrateGraph, one: DatasetUse) -> Entity:
    # Not a schema.org Dataset, which would be a part of this crate.
    return graph.add(
        one.pid or iri(one.url) or local("dataset", one.name),
        ["CreativeWork", "http://www.w3.org/ns/dcat#Dataset"],
        name=one.name,
        url=iri(one.url),
    )


def _bytes(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"
