"""Formats of a description: the list behind content negotiation, links, pages and tests."""

from collections.abc import Callable
from dataclasses import dataclass

from registry.fair import citation, codemeta, modelindex, references
from registry.fair.bom import cyclonedx, spdx
from registry.fair.crate import croissant, rocrate
from registry.fair.datacite import document as datacite
from registry.fair.description import Description, ResourceKind
from registry.fair.linked import jsonld, provjson, rdfxml, turtle


@dataclass(frozen=True, slots=True)
class Format:
    """One serialisation of descriptions.

    Attributes:
        name: Last part of its address, ``/{namespace}/{name}/metadata/<name>``.
        profile: Address of the profile that refines a generic media type.
        extension: Suffix of downloaded files; that of RO-Crate starts with a dash, as it requires.
        is_negotiated: Whether the landing page serves it for its media type. A format that is not
            is served for its profile, if it has one.
    """

    name: str
    title: str
    media_type: str
    extension: str
    render: Callable[[Description], bytes]
    profile: str | None = None
    is_negotiated: bool = False
    kinds: frozenset[ResourceKind] = frozenset({"model", "dataset"})


_MODELS: frozenset[ResourceKind] = frozenset({"model"})

#: The canonical JSON-LD comes last, for consumers that take the last of several links. Headers of
#: answers have room for the last ten; link sets have all.
FORMATS: tuple[Format, ...] = (
    Format(
        "csl",
        "CSL-JSON",
        "application/vnd.citationstyles.csl+json",
        ".csl.json",
        references.render_csl,
        is_negotiated=True,
    ),
    Format(
        "ris",
        "RIS",
        "application/x-research-info-systems",
        ".ris",
        references.render_ris,
        is_negotiated=True,
    ),
    Format(
        "codemeta",
        "CodeMeta 3.0",
        codemeta.MEDIA_TYPE,
        ".codemeta.json",
        codemeta.render,
        is_negotiated=True,
        kinds=_MODELS,
    ),
    Format(
        "prov-json",
        "PROV-JSON: provenance",
        "application/json",
        ".prov.json",
        provjson.render,
        profile=provjson.PROFILE,
    ),
    Format(
        "rdfxml",
        "RDF/XML",
        "application/rdf+xml",
        ".rdf",
        rdfxml.render,
        is_negotiated=True,
    ),
    Format(
        "datacite-json",
        "DataCite 4.7 (JSON)",
        "application/vnd.datacite.datacite+json",
        ".datacite.json",
        datacite.render_json,
        is_negotiated=True,
    ),
    Format(
        "datacite-xml",
        "DataCite 4.7 (XML)",
        "application/vnd.datacite.datacite+xml",
        ".datacite.xml",
        datacite.render_xml,
        is_negotiated=True,
    ),
    Format(
        "rocrate",
        "RO-Crate 1.3",
        "application/ld+json",
        "-ro-crate-metadata.json",
        rocrate.render,
        profile=rocrate.PROFILE,
    ),
    Format(
        "croissant",
        "Croissant 1.1: measurements and tuning log",
        "application/ld+json",
        ".croissant.json",
        croissant.render,
        profile=croissant.PROFILE,
    ),
    Format(
        "cyclonedx",
        "CycloneDX 1.7 ML-BOM",
        "application/vnd.cyclonedx+json",
        ".cdx.json",
        cyclonedx.render,
        is_negotiated=True,
        kinds=_MODELS,
    ),
    Format(
        "spdx",
        "SPDX 3.0 AI profile",
        "application/spdx+json",
        ".spdx3.json",
        spdx.render,
        is_negotiated=True,
    ),
    Format("cff", "CITATION.cff", "application/yaml", ".cff", citation.render_cff),
    Format(
        "bibtex",
        "BibTeX",
        "application/x-bibtex",
        ".bib",
        citation.render_bibtex,
        is_negotiated=True,
    ),
    Format(
        "model-index",
        "Hugging Face model-index",
        "application/yaml",
        ".model-index.yaml",
        modelindex.render,
        kinds=_MODELS,
    ),
    Format("turtle", "Turtle", "text/turtle", ".ttl", turtle.render, is_negotiated=True),
    Format(
        "jsonld",
        "JSON-LD: schema.org, FAIR4ML, PROV-O",
        "application/ld+json",
        ".jsonld",
        jsonld.render,
        is_negotiated=True,
    ),
)


def formats_of(kind: ResourceKind) -> list[Format]:
    """Formats of models or data sets, in the order of :data:`FORMATS`."""
    return [one for one in FORMATS if kind in one.kinds]
