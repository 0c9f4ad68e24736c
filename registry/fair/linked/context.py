"""Namespaces and the JSON-LD context that every document of linked data contains.

The context is inline because consumers that cannot fetch contexts would lose the whole record. It
uses ``http://schema.org/`` like FAIR4ML, RO-Crate and the official context, since some consumers
match only that. JSON-LD 1.0 suffices to read it.
"""

from collections.abc import Iterable
from typing import Any

HUB_TERMS = "https://w3id.org/hpcfair/terms#"
COAR = "http://purl.org/coar/access_right/"
#: COAR Controlled Vocabulary for Access Rights 1.0.
ACCESS_RIGHTS = {
    "open access": f"{COAR}c_abf2",
    "restricted access": f"{COAR}c_16ec",
    "metadata only access": f"{COAR}c_14cb",
}

NAMESPACES = {
    "codemeta": "https://codemeta.github.io/terms/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "doc": "http://www.w3.org/2000/10/swap/pim/doc#",
    "dqv": "http://www.w3.org/ns/dqv#",
    "fair4ml": "https://w3id.org/fair4ml#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "hpc": "https://hpc-fair.github.io/ontology#",
    "hub": HUB_TERMS,
    "hydra": "http://www.w3.org/ns/hydra/core#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "http://schema.org/",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vann": "http://purl.org/vocab/vann/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

# Terms whose text values are addresses.
_ADDRESSES = ("url", "contentUrl", "sameAs", "license", "codeRepository")
_MOMENTS = (
    "dateCreated",
    "dateModified",
    "datePublished",
    "prov:startedAtTime",
    "prov:endedAtTime",
    "prov:invalidatedAtTime",
)


def prefixes(names: Iterable[str]) -> dict[str, Any]:
    """A context of these namespaces; raises KeyError if one is not in :data:`NAMESPACES`."""
    return {name: NAMESPACES[name] for name in names}


def _term(name: str, datatype: str) -> dict[str, str]:
    return {"@id": name if ":" in name else f"schema:{name}", "@type": datatype}


#: Names without a prefix are terms of schema.org.
CONTEXT: dict[str, Any] = (
    {"@vocab": NAMESPACES["schema"]}
    | prefixes(["schema", "codemeta", "dct", "doc", "dqv", "fair4ml", "hpc", "hub", "prov", "xsd"])
    | {name: _term(name, "@id") for name in _ADDRESSES}
    | {name: _term(name, "xsd:dateTime") for name in _MOMENTS}
)
