"""Readers of the forms that are no linked data: of catalogues, bills of materials, citations.

Each reads the fields of a record that :mod:`tests.hub.fair.test_shared_fields` names. A field that
the record lacks is ``None`` or empty.
"""

import json
import re
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import yaml

from tests.hub.fair.read_linked import listed

Fields = dict[str, Any]
_DATACITE = "{http://datacite.org/schema/kernel-4}"
_DOI = "https://doi.org/"
_ORCID = "https://orcid.org/"
_SPDX = "https://spdx.org/licenses/"


def datacite_json(data: bytes) -> Fields:
    document = json.loads(data)
    kind = document["types"]["resourceTypeGeneral"]
    dates = {one["dateType"]: one["date"] for one in document["dates"]}
    creators = document["creators"]
    alternates = [one["alternateIdentifier"] for one in document.get("alternateIdentifiers", [])]
    subjects = {one["subject"]: one.get("subjectScheme") for one in document.get("subjects", [])}
    related = [
        (one["relationType"], one.get("resourceTypeGeneral"), _address(one["relatedIdentifier"]))
        for one in document["relatedIdentifiers"]
    ]

    def by(relation: str, kind: str | None = None) -> list[str]:
        return [one for name, of, one in related if (name, of) == (relation, kind)]

    return {
        "pid": alternates[0],
        "landing": document["url"],
        "concept": by("IsVersionOf")[0],
        "doi": f"{_DOI}{document['doi']}" if "doi" in document else None,
        "swhid": by("IsIdenticalTo")[0],
        "title": document["titles"][0]["title"],
        "text": _abstract(
            (one["descriptionType"], one["description"]) for one in document.get("descriptions", [])
        ),
        "version": document["version"],
        "created": dates["Created"],
        "published": dates["Issued"],
        "modified": dates["Updated"],
        "license": [
            one["rightsUri"]
            for one in document.get("rightsList", [])
            if _SPDX in one.get("rightsUri", "")
        ],
        "creators": [one["name"] for one in creators],
        "orcids": {
            one["name"]: address
            for one in creators
            for name in one.get("nameIdentifiers", [])
            if _ORCID in (address := name["nameIdentifier"])
        },
        "homes": {
            one["name"]: [(home["name"], home["affiliationIdentifier"]) for home in affiliation]
            for one in creators
            if (affiliation := one.get("affiliation"))
        },
        "keywords": [name for name, scheme in subjects.items() if not scheme],
        "languages": listed(document.get("language")),
        "parents": set(by("IsDerivedFrom", kind)),
        "papers": set(by("IsDescribedBy")),
        "data": set(by("IsDerivedFrom", "Dataset")) if kind == "Model" else set(),
        "task": next((name for name, scheme in subjects.items() if scheme == "task"), None),
        "publisher": document["publisher"]["name"],
    }


def datacite_xml(data: bytes) -> Fields:
    document = ElementTree.fromstring(data)  # noqa: S314 - our own bytes

    def nodes(path: str, of: Element = document) -> list[Element]:
        return of.findall("/".join(f"{_DATACITE}{part}" for part in path.split("/")))

    def texts(path: str, of: Element = document) -> list[str]:
        return [one.text or "" for one in nodes(path, of)]

    def by(relation: str, kind: str | None = None) -> list[str]:
        return [
            _address(one.text or "")
            for one in nodes("relatedIdentifiers/relatedIdentifier")
            if (one.get("relationType"), one.get("resourceTypeGeneral")) == (relation, kind)
        ]

    kind = nodes("resourceType")[0].get("resourceTypeGeneral")
    dates = {one.get("dateType"): one.text or "" for one in nodes("dates/date")}
    creators = {texts("creatorName", one)[0]: one for one in nodes("creators/creator")}
    # Without a DOI, the ARK is the identifier.
    addresses = [one for one in texts("identifier") if not one.startswith("10.")]
    addresses += texts("alternateIdentifiers/alternateIdentifier")
    subjects = {one.text: one.get("subjectScheme") for one in nodes("subjects/subject")}
    rights = [one.get("rightsURI") or "" for one in nodes("rightsList/rights")]
    return {
        "pid": addresses[0],
        "landing": addresses[1],
        "concept": by("IsVersionOf")[0],
        "doi": _address(identifier)
        if (identifier := texts("identifier")[0])[:3] == "10."
        else None,
        "swhid": by("IsIdenticalTo")[0],
        "title": texts("titles/title")[0],
        "text": _abstract(
            (one.get("descriptionType"), one.text) for one in nodes("descriptions/description")
        ),
        "version": texts("version")[0],
        "created": dates["Created"],
        "published": dates["Issued"],
        "modified": dates["Updated"],
        "license": [one for one in rights if _SPDX in one],
        "creators": list(creators),
        "orcids": {
            name: address
            for name, one in creators.items()
            for address in texts("nameIdentifier", one)
            if _ORCID in address
        },
        "homes": {
            name: [(home.text, home.get("affiliationIdentifier")) for home in homes]
            for name, one in creators.items()
            if (homes := nodes("affiliation", one))
        },
        "keywords": [name for name, scheme in subjects.items() if not scheme],
        "languages": texts("language"),
        "parents": set(by("IsDerivedFrom", kind)),
        "papers": set(by("IsDescribedBy")),
        "data": set(by("IsDerivedFrom", "Dataset")) if kind == "Model" else set(),
        "task": next((name for name, scheme in subjects.items() if scheme == "task"), None),
        "publisher": texts("publisher")[0],
    }


def _comment(one: dict[str, Any]) -> str:
    """A comment without what it says of the test authority."""
    return str(one.get("comment", "")).partition(".")[0].removeprefix("persistent ")


def cyclonedx(data: bytes) -> Fields:
    bill = json.loads(data)
    component = bill["metadata"]["component"]
    elsewhere = {_comment(one) or one["type"]: one for one in component["externalReferences"]}
    properties = {
        one["name"].removeprefix("hpcfair:"): one["value"] for one in component["properties"]
    }
    sizes = {
        one["name"]: int(own["value"])
        for one in component.get("components", [])
        for own in one["properties"]
        if own["name"] == "hpcfair:fileSizeBytes"
    }
    return {
        "pid": elsewhere["identifier of this version"]["url"],
        "concept": elsewhere["identifier of all versions"]["url"],
        "landing": elsewhere["website"]["url"],
        "doi": elsewhere.get("DOI of this version", {}).get("url"),
        "swhid": component["swhid"][0],
        "swhid_commit": component["swhid"][1],
        "title": properties["title"],
        "text": component.get("description"),
        "version": component["version"],
        "created": properties["created"],
        "published": properties["published"],
        "modified": bill["metadata"]["timestamp"],
        "license": [
            one["url"] for own in component.get("licenses", []) for one in own["expressionDetails"]
        ],
        "creators": [one["name"] for one in component.get("authors", [])],
        "orcids": _entries(properties, "orcid"),
        "homes": {
            name: [tuple(text.removesuffix(")").rsplit(" (", 1))]
            for name, text in _entries(properties, "affiliation").items()
        },
        "keywords": component.get("tags", []),
        "languages": properties["language"].split(", ") if "language" in properties else [],
        "files": {
            one["name"]: one["hashes"][0]["content"] for one in component.get("components", [])
        },
        "sizes": sizes,
        "parents": {
            one["url"]
            for source in component.get("pedigree", {}).get("ancestors", [])
            for one in source["externalReferences"]
            if _comment(one) == "identifier"
        },
        "papers": {
            one["url"] for one in component["externalReferences"] if one["type"] == "documentation"
        },
        "data": {one["contents"]["url"] for one in _parameters(component).get("datasets", [])},
        "task": _parameters(component).get("task"),
        "publisher": component["publisher"],
    }


def _entries(properties: dict[str, str], kind: str) -> dict[str, str]:
    lead = f"{kind}:"
    return {
        name.removeprefix(lead): value
        for name, value in properties.items()
        if name.startswith(lead)
    }


def _parameters(document: Fields) -> Fields:
    parameters: Fields = document.get("modelCard", {}).get("modelParameters", {})
    return parameters


def spdx(data: bytes) -> Fields:
    graph = json.loads(data)["@graph"]
    document = {one["spdxId"]: one for one in graph if "spdxId" in one}
    (creation,) = [one for one in graph if one["type"] == "CreationInfo"]
    (bill,) = [one for one in graph if one["type"] == "software_Sbom"]
    package = document[bill["rootElement"][0]]

    def related(kind: str, comment: str | None = None) -> list[Fields]:
        return [
            document[target]
            for one in graph
            if (one.get("from"), one.get("relationshipType")) == (package["spdxId"], kind)
            and comment in {None, one.get("comment")}
            for target in one["to"]
        ]

    identifiers = {
        _comment(one) or one["identifier"][:9]: one["identifier"]
        for one in package["externalIdentifier"]
    }
    # Of a data set SPDX knows one maker; several stand beside.
    several = related("other", "created by") or [
        document[one] for one in package.get("originatedBy", [])
    ]
    return {
        "pid": package["spdxId"],
        "concept": identifiers["identifier of all versions"],
        "landing": package["software_homePage"],
        "doi": identifiers.get("DOI of this version"),
        "swhid": identifiers["swh:1:dir"],
        "swhid_commit": identifiers["swh:1:rev"],
        "title": package["name"],
        "text": package.get("summary"),
        "version": package["software_packageVersion"],
        "created": package["builtTime"],
        "published": package["releaseTime"],
        "modified": creation["created"],
        "license": [
            f"{_SPDX}{one['simplelicensing_licenseExpression']}"
            for one in related("hasDeclaredLicense")
            if "simplelicensing_licenseExpression" in one
        ],
        "creators": [one["name"] for one in several],
        "orcids": {
            one["name"]: own["identifier"]
            for one in several
            for own in one.get("externalIdentifier", [])
            if _ORCID in own["identifier"]
        },
        "files": {one["name"]: one["verifiedUsing"][0]["hashValue"] for one in related("contains")},
        "parents": {one["externalIdentifier"][0]["identifier"] for one in related("descendantOf")},
        "papers": {
            address
            for one in package.get("externalRef", [])
            if one["externalRefType"] == "documentation"
            for address in one["locator"]
        },
        "data": {one["externalIdentifier"][0]["identifier"] for one in related("trainedOn")},
        "task": next(iter(package.get("ai_domain", [])), None),
        "publisher": document[creation["createdBy"][0]]["name"],
    }


def cff(data: bytes) -> Fields:
    document = yaml.safe_load(data)
    swhids = [one["value"] for one in document["identifiers"] if one["type"] == "swh"]
    pid, concept = [one["value"] for one in document["identifiers"] if one["type"] == "url"]
    people = {_cff_name(one): one for one in document["authors"]}
    return {
        "pid": pid,
        "concept": concept,
        "landing": document["url"],
        "doi": f"{_DOI}{document['doi']}" if "doi" in document else None,
        "swhid": swhids[0],
        "swhid_commit": swhids[1],
        "title": document["title"],
        "text": document.get("abstract"),
        "version": document["version"],
        "published": document["date-released"],
        "license": [f"{_SPDX}{document['license']}"] if "license" in document else [],
        "creators": list(people),
        "orcids": {name: one["orcid"] for name, one in people.items() if "orcid" in one},
        "keywords": document.get("keywords", []),
    }


def _cff_name(one: Fields) -> str:
    parts = ("name", "alias", "given-names", "name-particle", "family-names")
    return " ".join(one[part] for part in parts if part in one)


def bibtex(data: bytes) -> Fields:
    document = dict(re.findall(r"^  (\w+) = \{(.*)\},$", data.decode(), re.MULTILINE))
    return {
        "pid": document["url"],
        "doi": f"{_DOI}{document['doi']}" if "doi" in document else None,
        "title": document["title"].strip("{}"),
        "version": document["version"],
        "published": document["year"],
        "creators": [one.strip("{}") for one in document.get("author", "").split(" and ") if one],
        "publisher": document["publisher"],
    }


def model_index(data: bytes) -> Fields:
    """No shared field: entries have the names that authors gave them."""
    assert yaml.safe_load(data)["model-index"]
    return {}


def _abstract(descriptions: Iterable[tuple[str | None, str | None]]) -> str | None:
    return next((text for kind, text in descriptions if kind == "Abstract"), None)


def _address(identifier: str) -> str:
    return f"{_DOI}{identifier}" if identifier.startswith("10.") else identifier
