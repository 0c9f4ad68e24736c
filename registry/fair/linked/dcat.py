"""The catalogue of a hub's records as DCAT 3 (W3C 2024). DCAT has no paging; pages are Hydra
collection views, as in other catalogues."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from registry.fair.addresses import dump_url
from registry.fair.description import Access, Description, ResourceKind
from registry.fair.iris import iri
from registry.fair.linked.context import ACCESS_RIGHTS, prefixes
from registry.fair.linked.nodes import blank, moment, ref, refs
from registry.fair.linked.turtle import turtle
from registry.fair.parts import METADATA_LICENSE, Agent, FileDescription, Hub, License
from registry.fair.serialise import drop_empty

_MEDIA_TYPES = "https://www.iana.org/assignments/media-types/"
#: Upper bound on the files of a record in a page of the catalogue; its landing page leads to all.
_MAX_FILES = 20
_CONTEXT = prefixes(("dcat", "dct", "fair4ml", "foaf", "hydra", "spdx", "xsd")) | {
    "dct:issued": {"@id": "dct:issued", "@type": "xsd:dateTime"},
    "dct:modified": {"@id": "dct:modified", "@type": "xsd:dateTime"},
    "dcat:byteSize": {"@id": "dcat:byteSize", "@type": "xsd:nonNegativeInteger"},
    "spdx:checksumValue": {"@id": "spdx:checksumValue", "@type": "xsd:hexBinary"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRecord:
    """A version in the catalogue; its fields are those of :class:`Description`."""

    pid: str
    landing: str
    kind: ResourceKind
    title: str
    access: Access
    version: str
    published: datetime
    modified: datetime
    description: str | None = None
    creators: tuple[Agent, ...] = ()
    license: License | None = None
    keywords: tuple[str, ...] = ()
    files: tuple[FileDescription, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPage:
    """Addresses of a page of the catalogue and of other pages.

    ``total`` counts all records; ``None`` if there are too many to count.
    """

    url: str
    total: int | None
    first: str
    last: str
    previous: str | None = None
    next: str | None = None


def summary(description: Description) -> CatalogRecord:
    """The catalogue record of ``description``."""
    return CatalogRecord(
        **{name: getattr(description, name) for name in CatalogRecord.__dataclass_fields__}
    )


def document(hub: Hub, summaries: Iterable[CatalogRecord], page: CatalogPage) -> dict[str, Any]:
    """One page of the catalogue as JSON-LD."""
    publisher = drop_empty(
        **{"@id": iri(hub.publisher.ror) or iri(hub.publisher.url), "@type": "foaf:Agent"},
        **{"foaf:name": hub.publisher.name},
    )
    view = drop_empty(
        **{
            "@id": page.url,
            "@type": "hydra:PartialCollectionView",
            "hydra:first": ref(page.first),
            "hydra:previous": ref(page.previous),
            "hydra:next": ref(page.next),
            "hydra:last": ref(page.last),
        }
    )
    return {"@context": _CONTEXT} | drop_empty(
        **{
            "@id": f"{hub.url}/catalog",
            "@type": ["dcat:Catalog", "hydra:Collection"],
            "dct:title": hub.name,
            "dct:description": f"Models and data sets on {hub.name}.",
            "dct:publisher": publisher,
            # Of the records; those of the data sets follow with each.
            "dct:license": ref(METADATA_LICENSE),
            "foaf:homepage": ref(hub.url),
            "hydra:totalItems": page.total,
            "hydra:view": view,
            "dcat:distribution": _dump(hub),
            "dcat:dataset": [_dataset(one, publisher) for one in summaries],
        }
    )


def render_jsonld(hub: Hub, summaries: Iterable[CatalogRecord], page: CatalogPage) -> bytes:
    """One page of the catalogue as JSON-LD."""
    return json.dumps(document(hub, summaries, page), ensure_ascii=False, indent=1).encode()


def render_turtle(hub: Hub, summaries: Iterable[CatalogRecord], page: CatalogPage) -> bytes:
    """One page of the catalogue as Turtle."""
    return turtle(document(hub, summaries, page))


def _dataset(one: CatalogRecord, publisher: dict[str, Any]) -> dict[str, Any]:
    return drop_empty(
        **{
            "@id": one.pid,
            "@type": ["dcat:Dataset", "fair4ml:MLModel"] if one.kind == "model" else "dcat:Dataset",
            "dct:identifier": one.pid,
            "dct:title": one.title,
            "dct:description": one.description,
            "dcat:version": one.version,
            "dct:issued": moment(one.published),
            "dct:modified": moment(one.modified),
            "dct:publisher": publisher,
            "dct:creator": [_agent(creator) for creator in one.creators],
            "dct:license": refs(one.license.uris) if one.license else None,
            "dct:accessRights": {"@id": ACCESS_RIGHTS[one.access]},
            "dcat:keyword": list(one.keywords),
            "dcat:landingPage": ref(one.landing),
            "dcat:distribution": [_distribution(file, one) for file in one.files[:_MAX_FILES]],
        }
    )


def _dump(hub: Hub) -> dict[str, Any]:
    """The distribution of the catalogue itself: its records in one file."""
    url = dump_url(hub.url)
    return {
        "@id": url,
        "@type": "dcat:Distribution",
        "dct:title": "All records as JSON-LD, one a line",
        "dct:license": ref(METADATA_LICENSE),
        "dct:conformsTo": [ref("https://jsonlines.org/"), ref("https://www.w3.org/TR/json-ld11/")],
        "dcat:accessURL": ref(f"{hub.url}/catalog"),
        "dcat:downloadURL": ref(url),
        "dcat:compressFormat": ref(f"{_MEDIA_TYPES}application/gzip"),
    }


def _agent(one: Agent) -> dict[str, Any]:
    name = iri(one.orcid) or iri(one.ror) or iri(one.url) or blank("agent", one)
    return {"@id": name, "@type": "foaf:Agent", "foaf:name": one.name}


def _distribution(file: FileDescription, one: CatalogRecord) -> dict[str, Any]:
    checksum = {
        "@type": "spdx:Checksum",
        "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
        "spdx:checksumValue": file.sha256,
    }
    return drop_empty(
        **{
            "@id": iri(file.url),
            "@type": "dcat:Distribution",
            "dct:title": file.path,
            "dcat:accessURL": ref(one.landing),
            "dcat:downloadURL": ref(file.url),
            "dcat:mediaType": ref(f"{_MEDIA_TYPES}{file.media_type}"),
            "dcat:byteSize": file.size_bytes,
            "dct:license": refs(one.license.uris) if one.license else None,
            "spdx:checksum": checksum,
        }
    )
