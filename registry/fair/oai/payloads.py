"""Metadata formats of OAI-PMH: Dublin Core, and DataCite with and without an envelope.

Sources: OAI-PMH 2.0's ``oai_dc`` schema (Dublin Core 1.1), DataCite's ``oai_datacite`` 1.1, the
access terms of the OpenAIRE guidelines.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from registry.fair.datacite import xml as datacite_xml
from registry.fair.datacite.document import document
from registry.fair.description import Access, Description
from registry.fair.linked.context import ACCESS_RIGHTS
from registry.fair.xmltree import XSI, element, located

_OAI_DC = "http://www.openarchives.org/OAI/2.0/oai_dc/"
_OAI_DC_SCHEMA = "http://www.openarchives.org/OAI/2.0/oai_dc.xsd"
_OAI_DATACITE = "http://schema.datacite.org/oai/oai-1.1/"
_OAI_DATACITE_SCHEMA = "http://schema.datacite.org/oai/oai-1.1/oai.xsd"
#: Access terms of info:eu-repo, for harvesters that do not read those of COAR.
_EU_ACCESS: dict[Access, str] = {
    "open access": "info:eu-repo/semantics/openAccess",
    "restricted access": "info:eu-repo/semantics/restrictedAccess",
    "metadata only access": "info:eu-repo/semantics/closedAccess",
}


@dataclass(frozen=True, slots=True)
class Payload:
    """The format of a metadata prefix."""

    namespace: str
    schema: str
    write: Callable[[Description], Element]


def dublin_core(description: Description) -> Element:
    """Simple Dublin Core."""
    values = _dublin_core(description)
    return element(
        "oai_dc:dc",
        [element(f"dc:{name}", value) for name, texts in values for value in texts if value],
        {
            "xmlns:oai_dc": _OAI_DC,
            "xmlns:dc": "http://purl.org/dc/elements/1.1/",
            "xmlns:xsi": XSI,
            "xsi:schemaLocation": f"{_OAI_DC} {_OAI_DC_SCHEMA}",
        },
    )


def datacite(description: Description) -> Element:
    """DataCite metadata without an envelope."""
    return datacite_xml.tree(document(description))


def oai_datacite(description: Description) -> Element:
    """DataCite metadata in the envelope of DataCite's own OAI-PMH provider."""
    return element(
        "oai_datacite",
        [
            element("schemaVersion", datacite_xml.VERSION),
            element("datacentreSymbol", description.hub.name),
            element("payload", [datacite(description)]),
        ],
        located(_OAI_DATACITE, _OAI_DATACITE_SCHEMA),
    )


def _dublin_core(description: Description) -> list[tuple[str, Iterable[str | None]]]:
    licence = description.license
    subjects = dict.fromkeys((*description.keywords, description.task))
    sources = (one.pid or one.url for one in description.derived_from)
    relations = (description.concept_pid, *(paper.url for paper in description.papers))
    return [
        ("title", (description.title,)),
        ("creator", (agent.name for agent in description.creators)),
        ("subject", subjects),
        ("description", (description.description,)),
        ("publisher", (description.hub.publisher.name,)),
        ("contributor", (agent.name for agent in description.contributors)),
        ("date", (description.published.date().isoformat(),)),
        ("type", ("Dataset" if description.kind == "dataset" else "Model",)),
        ("format", dict.fromkeys(file.media_type for file in description.files)),
        ("identifier", (description.pid, description.doi, description.landing)),
        ("source", sources),
        ("language", description.languages),
        ("relation", relations),
        (
            "rights",
            (
                ACCESS_RIGHTS[description.access],
                _EU_ACCESS[description.access],
                *((licence.expression, *licence.uris) if licence else ()),
                description.use_restrictions,
            ),
        ),
    ]


#: By metadata prefix. Every record is available in each.
PAYLOADS: dict[str, Payload] = {
    "oai_dc": Payload(_OAI_DC, _OAI_DC_SCHEMA, dublin_core),
    "oai_datacite": Payload(_OAI_DATACITE, _OAI_DATACITE_SCHEMA, oai_datacite),
    "datacite": Payload(datacite_xml.NAMESPACE, datacite_xml.SCHEMA, datacite),
}
