"""The vocabulary of the hub's own terms as JSON-LD and Turtle, served at ``{hub}/terms``. The
terms' namespace below w3id.org is requested but not registered yet."""

import json
from typing import Any

from registry.fair.linked.context import HUB_TERMS, prefixes
from registry.fair.linked.hpc_ontology import MATCHES
from registry.fair.linked.term import Term
from registry.fair.linked.terms import TERMS
from registry.fair.linked.turtle import turtle
from registry.fair.serialise import drop_empty

_ONTOLOGY = HUB_TERMS.removesuffix("#")
_SCHEME = f"{HUB_TERMS}architectures"
_CONTEXT = prefixes(
    ("dct", "dqv", "fair4ml", "hpc", "hub", "owl", "prov", "rdf", "rdfs", "schema", "skos", "vann")
)
_TYPES = {"class": "rdfs:Class", "property": "rdf:Property", "concept": "skos:Concept"}
_PARENTS = {"class": "rdfs:subClassOf", "property": "rdfs:subPropertyOf"}


def document() -> dict[str, Any]:
    """The vocabulary as JSON-LD."""
    matches = [{"@id": one, "skos:closeMatch": [{"@id": other}]} for one, other in MATCHES]
    return {
        "@context": _CONTEXT,
        "@graph": [_header(), _scheme(), *(_declared(term) for term in TERMS), *matches],
    }


def render_jsonld() -> bytes:
    """The vocabulary as JSON-LD."""
    return json.dumps(document(), ensure_ascii=False, indent=1).encode()


def render_turtle() -> bytes:
    """The vocabulary as Turtle."""
    return turtle(document())


def _header() -> dict[str, Any]:
    return {
        "@id": _ONTOLOGY,
        "@type": "owl:Ontology",
        "dct:title": "HPCFair terms",
        "dct:description": (
            "Terms for models that are compiled, tuned and measured, where FAIR4ML, PROV-O, "
            "schema.org and the HPC Ontology have none."
        ),
        "dct:license": {"@id": "https://spdx.org/licenses/Apache-2.0"},
        "owl:versionInfo": "1.1.0",
        "vann:preferredNamespacePrefix": "hub",
        "vann:preferredNamespaceUri": HUB_TERMS,
    }


def _scheme() -> dict[str, Any]:
    return {
        "@id": _SCHEME,
        "@type": "skos:ConceptScheme",
        "skos:prefLabel": "Classes of architectures",
        "rdfs:isDefinedBy": {"@id": _ONTOLOGY},
    }


def _declared(term: Term) -> dict[str, Any]:
    is_concept = term.kind == "concept"
    return drop_empty(
        **{
            "@id": f"{HUB_TERMS}{term.name}",
            "@type": _TYPES[term.kind],
            "skos:prefLabel" if is_concept else "rdfs:label": term.label,
            "skos:definition" if is_concept else "rdfs:comment": term.comment,
            "rdfs:isDefinedBy": {"@id": _ONTOLOGY},
            "skos:inScheme": {"@id": _SCHEME} if is_concept else None,
            _PARENTS.get(term.kind, "skos:broader"): _links(term.parents),
            "skos:closeMatch": _links(term.close),
            "skos:broadMatch": _links(term.broad),
            "rdfs:seeAlso": _links(term.see),
        }
    )


def _links(names: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"@id": name} for name in names]
