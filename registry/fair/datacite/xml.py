"""DataCite JSON as XML: kernel 4 with the schema of 4.7."""

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from registry.fair.xmltree import element, located

NAMESPACE = "http://datacite.org/schema/kernel-4"
SCHEMA = "https://schema.datacite.org/meta/kernel-4.7/metadata.xsd"
VERSION = "4.7"

#: JSON list to the element of an item, the key of its text ("" if the item is the text), and the
#: keys that become attributes, with their names in XML.
_LISTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "titles": ("title", "title", {"titleType": "titleType"}),
    "subjects": ("subject", "subject", {"subjectScheme": "subjectScheme"}),
    "dates": ("date", "date", {"dateType": "dateType", "dateInformation": "dateInformation"}),
    "relatedIdentifiers": (
        "relatedIdentifier",
        "relatedIdentifier",
        {
            "relatedIdentifierType": "relatedIdentifierType",
            "relationType": "relationType",
            "resourceTypeGeneral": "resourceTypeGeneral",
        },
    ),
    "sizes": ("size", "", {}),
    "formats": ("format", "", {}),
    "rightsList": (
        "rights",
        "rights",
        {
            "rightsUri": "rightsURI",
            "rightsIdentifier": "rightsIdentifier",
            "rightsIdentifierScheme": "rightsIdentifierScheme",
            "schemeUri": "schemeURI",
        },
    ),
    "descriptions": ("description", "description", {"descriptionType": "descriptionType"}),
}


def tree(document: Mapping[str, Any]) -> Element:
    """The ``resource`` element of :func:`registry.fair.datacite.document.document`. The required
    identifier is the DOI, else the first alternate identifier, the ARK, whose type 4.7 allows."""
    return element("resource", _parts(document), located(NAMESPACE, SCHEMA))


def _parts(document: Mapping[str, Any]) -> Iterator[Element]:
    alternates = list(document["alternateIdentifiers"])
    if "doi" in document:
        yield element("identifier", document["doi"], {"identifierType": "DOI"})
    else:
        first = alternates.pop(0)
        kind = first["alternateIdentifierType"]
        yield element("identifier", first["alternateIdentifier"], {"identifierType": kind})
    yield _people("creator", document["creators"])
    yield _publisher(document["publisher"])
    yield element("publicationYear", document["publicationYear"])
    types = document["types"]
    general = {"resourceTypeGeneral": types["resourceTypeGeneral"]}
    yield element("resourceType", types["resourceType"], general)
    yield _people("contributor", document["contributors"])
    if "language" in document:
        yield element("language", document["language"])
    if alternates:
        yield element("alternateIdentifiers", [_alternate(one) for one in alternates])
    yield element("version", document["version"])
    yield from (_list(name, document[name]) for name in _LISTS if name in document)
    if "fundingReferences" in document:
        yield element("fundingReferences", [_grant(one) for one in document["fundingReferences"]])


def _list(name: str, items: list[Any]) -> Element:
    tag, text, attributes = _LISTS[name]
    return element(
        name,
        [
            element(
                tag,
                item[text] if text else item,
                {xml: item.get(key) for key, xml in attributes.items()},
            )
            for item in items
        ],
    )


def _people(role: str, agents: list[dict[str, Any]]) -> Element:
    return element(f"{role}s", [_agent(role, agent) for agent in agents])


def _agent(role: str, agent: Mapping[str, Any]) -> Element:
    children = [element(f"{role}Name", agent["name"], {"nameType": agent.get("nameType")})]
    children += [element(key, agent[key]) for key in ("givenName", "familyName") if key in agent]
    children += [
        element("nameIdentifier", one["nameIdentifier"], _scheme(one, "nameIdentifierScheme"))
        for one in agent.get("nameIdentifiers", [])
    ]
    children += [
        element(
            "affiliation",
            one["name"],
            _scheme(one, "affiliationIdentifier", "affiliationIdentifierScheme"),
        )
        for one in agent.get("affiliation", [])
    ]
    return element(role, children, {"contributorType": agent.get("contributorType")})


def _publisher(publisher: Mapping[str, str]) -> Element:
    attributes = _scheme(publisher, "publisherIdentifier", "publisherIdentifierScheme")
    return element("publisher", publisher["name"], attributes)


def _scheme(values: Mapping[str, str], *keys: str) -> dict[str, str | None]:
    return {key: values.get(key) for key in keys} | {"schemeURI": values.get("schemeUri")}


def _alternate(one: Mapping[str, str]) -> Element:
    attributes = {"alternateIdentifierType": one["alternateIdentifierType"]}
    return element("alternateIdentifier", one["alternateIdentifier"], attributes)


def _grant(grant: Mapping[str, str]) -> Element:
    children = [element("funderName", grant["funderName"])]
    if "funderIdentifier" in grant:
        kind = {"funderIdentifierType": grant["funderIdentifierType"]}
        children.append(element("funderIdentifier", grant["funderIdentifier"], kind))
    # The address is an attribute of the number, which may be empty.
    if grant.keys() & {"awardNumber", "awardUri"}:
        uri = {"awardURI": grant.get("awardUri")}
        children.append(element("awardNumber", grant.get("awardNumber", ""), uri))
    if "awardTitle" in grant:
        children.append(element("awardTitle", grant["awardTitle"]))
    return element("fundingReference", children)
