"""Readers of the forms that are no linked data: of catalogues, bills of materials, citations.

Each tells fields of a record by the names of :mod:`tests.hub.fair.test_shared_fields`.
"""

import json
import re
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import yaml

Told = dict[str, Any]
_DATACITE = "{http://datacite.org/schema/kernel-4}"
_DOI = "https://doi.org/"
_SPDX = "https://spdx.org/licenses/"


def datacite_json(data: bytes) -> Told:
    told = json.loads(data)
    kind = told["types"]["resourceTypeGeneral"]
    dates = {one["dateType"]: one["date"] for one in told["dates"]}
    creators = told["creators"]
    alternates = [one["alternateIdentifier"] for one in told["alternateIdentifiers"]]
    subjects = {one["subject"]: one.get("subjectScheme") for one in told["subjects"]}
    related = [
        (one["relationType"], one.get("resourceTypeGeneral"), _address(one["relatedIdentifier"]))
        for one in told["relatedIdentifiers"]
    ]

    def by(relation: str, kind: str | None = None) -> list[str]:
        return [one for told, of, one in related if (told, of) == (relation, kind)]

    return {
        "pid": alternates[0],
        "landing": told["url"],
        "concept": by("IsVersionOf")[0],
        "doi": f"{_DOI}{told['doi']}",
        "swhid": by("IsIdenticalTo")[0],
        "title": told["titles"][0]["title"],
        "text": told["descriptions"][0]["description"],
        "version": told["version"],
        "created": dates["Created"],
        "published": dates["Issued"],
        "modified": dates["Updated"],
        "license": [one["rightsUri"] for one in told["rightsList"] if _SPDX in one["rightsUri"]],
        "creators": [one["name"] for one in creators],
        "orcids": {
            one["name"]: one["nameIdentifiers"][0]["nameIdentifier"]
            for one in creators
            if "nameIdentifiers" in one
        },
        "homes": {
            one["name"]: [(home["name"], home["affiliationIdentifier"]) for home in affiliation]
            for one in creators
            if (affiliation := one.get("affiliation"))
        },
        "keywords": [name for name, scheme in subjects.items() if not scheme],
        "languages": [told["language"]],
        "parents": set(by("IsDerivedFrom", kind)),
        "papers": set(by("IsDescribedBy")),
        "data": set(by("IsDerivedFrom", "Dataset")) if kind == "Model" else set(),
        "task": next((name for name, scheme in subjects.items() if scheme == "task"), None),
        "publisher": told["publisher"]["name"],
    }


def datacite_xml(data: bytes) -> Told:
    told = ElementTree.fromstring(data)  # noqa: S314 - our own bytes

    def found(path: str, of: Element = told) -> list[Element]:
        return of.findall("/".join(f"{_DATACITE}{part}" for part in path.split("/")))

    def texts(path: str, of: Element = told) -> list[str]:
        return [one.text or "" for one in found(path, of)]

    def by(relation: str, kind: str | None = None) -> list[str]:
        return [
            _address(one.text or "")
            for one in found("relatedIdentifiers/relatedIdentifier")
            if (one.get("relationType"), one.get("resourceTypeGeneral")) == (relation, kind)
        ]

    kind = found("resourceType")[0].get("resourceTypeGeneral")
    dates = {one.get("dateType"): one.text or "" for one in found("dates/date")}
    creators = {texts("creatorName", one)[0]: one for one in found("creators/creator")}
    alternates = texts("alternateIdentifiers/alternateIdentifier")
    subjects = {one.text: one.get("subjectScheme") for one in found("subjects/subject")}
    rights = [one.get("rightsURI") or "" for one in found("rightsList/rights")]
    return {
        "pid": alternates[0],
        "landing": alternates[1],
        "concept": by("IsVersionOf")[0],
        "doi": f"{_DOI}{texts('identifier')[0]}",
        "swhid": by("IsIdenticalTo")[0],
        "title": texts("titles/title")[0],
        "text": texts("descriptions/description")[0],
        "version": texts("version")[0],
        "created": dates["Created"],
        "published": dates["Issued"],
        "modified": dates["Updated"],
        "license": [one for one in rights if _SPDX in one],
        "creators": list(creators),
        "orcids": {
            name: identifiers[0]
            for name, one in creators.items()
            if (identifiers := texts("nameIdentifier", one))
        },
        "homes": {
            name: [(home.text, home.get("affiliationIdentifier")) for home in homes]
            for name, one in creators.items()
            if (homes := found("affiliation", one))
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


def cyclonedx(data: bytes) -> Told:
    bill = json.loads(data)
    told = bill["metadata"]["component"]
    elsewhere = {_comment(one) or one["type"]: one for one in told["externalReferences"]}
    properties = {one["name"].removeprefix("hpcfair:"): one["value"] for one in told["properties"]}
    sizes = {
        one["name"]: int(own["value"])
        for one in told["components"]
        for own in one["properties"]
        if own["name"] == "hpcfair:fileSizeBytes"
    }
    return {
        "pid": elsewhere["identifier of this version"]["url"],
        "concept": elsewhere["identifier of all versions"]["url"],
        "landing": elsewhere["website"]["url"],
        "doi": elsewhere["DOI of this version"]["url"],
        "swhid": told["swhid"][0],
        "swhid_commit": told["swhid"][1],
        "title": properties["title"],
        "text": told["description"],
        "version": told["version"],
        "created": properties["created"],
        "published": properties["published"],
        "modified": bill["metadata"]["timestamp"],
        "license": [one["url"] for own in told["licenses"] for one in own["expressionDetails"]],
        "creators": [one["name"] for one in told["authors"]],
        "orcids": _entries(properties, "orcid"),
        "homes": {
            name: [tuple(text.removesuffix(")").rsplit(" (", 1))]
            for name, text in _entries(properties, "affiliation").items()
        },
        "keywords": told["tags"],
        "languages": properties["language"].split(", "),
        "files": {one["name"]: one["hashes"][0]["content"] for one in told["components"]},
        "sizes": sizes,
        "parents": {
            one["url"]
            for source in told["pedigree"]["ancestors"]
            for one in source["externalReferences"]
            if _comment(one) == "identifier"
        },
        "papers": {one["url"] for one in elsewhere.values() if one["type"] == "documentation"},
        "data": {one["contents"]["url"] for one in _parameters(told)["datasets"]},
        "task": _parameters(told)["task"],
        "publisher": told["publisher"],
    }


def _entries(properties: dict[str, str], kind: str) -> dict[str, str]:
    lead = f"{kind}:"
    return {
        name.removeprefix(lead): value
        for name, value in properties.items()
        if name.startswith(lead)
    }


def _parameters(told: Told) -> Told:
    found: Told = told["modelCard"]["modelParameters"]
    return found


def spdx(data: bytes) -> Told:
    graph = json.loads(data)["@graph"]
    told = {one["spdxId"]: one for one in graph if "spdxId" in one}
    (creation,) = [one for one in graph if one["type"] == "CreationInfo"]
    (bill,) = [one for one in graph if one["type"] == "software_Sbom"]
    package = told[bill["rootElement"][0]]

    def related(kind: str, comment: str | None = None) -> list[Told]:
        return [
            told[target]
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
    several = related("other", "created by") or [told[one] for one in package["originatedBy"]]
    (licence,) = related("hasDeclaredLicense")
    return {
        "pid": package["spdxId"],
        "concept": identifiers["identifier of all versions"],
        "landing": package["software_homePage"],
        "doi": identifiers["DOI of this version"],
        "swhid": identifiers["swh:1:dir"],
        "swhid_commit": identifiers["swh:1:rev"],
        "title": package["name"],
        "text": package["summary"],
        "version": package["software_packageVersion"],
        "created": package["builtTime"],
        "published": package["releaseTime"],
        "modified": creation["created"],
        "license": [f"{_SPDX}{licence['simplelicensing_licenseExpression']}"],
        "creators": [one["name"] for one in several],
        "orcids": {
            one["name"]: own["identifier"]
            for one in several
            for own in one.get("externalIdentifier", [])
            if own["externalIdentifierType"] == "other"
        },
        "files": {one["name"]: one["verifiedUsing"][0]["hashValue"] for one in related("contains")},
        "parents": {one["externalIdentifier"][0]["identifier"] for one in related("descendantOf")},
        "papers": {
            address
            for one in package["externalRef"]
            if one["externalRefType"] == "documentation"
            for address in one["locator"]
        },
        "data": {one["externalIdentifier"][0]["identifier"] for one in related("trainedOn")},
        "task": next(iter(package.get("ai_domain", [])), None),
        "publisher": told[creation["createdBy"][0]]["name"],
    }


def cff(data: bytes) -> Told:
    told = yaml.safe_load(data)
    swhids = [one["value"] for one in told["identifiers"] if one["type"] == "swh"]
    pid, concept = [one["value"] for one in told["identifiers"] if one["type"] == "url"]
    people = {f"{one['given-names']} {one['family-names']}": one for one in told["authors"]}
    return {
        "pid": pid,
        "concept": concept,
        "landing": told["url"],
        "doi": f"{_DOI}{told['doi']}",
        "swhid": swhids[0],
        "swhid_commit": swhids[1],
        "title": told["title"],
        "text": told["abstract"],
        "version": told["version"],
        "published": told["date-released"],
        "license": [f"{_SPDX}{told['license']}"],
        "creators": list(people),
        "orcids": {name: one["orcid"] for name, one in people.items() if "orcid" in one},
        "keywords": told["keywords"],
    }


def bibtex(data: bytes) -> Told:
    told = dict(re.findall(r"^  (\w+) = \{(.*)\},$", data.decode(), re.MULTILINE))
    return {
        "pid": told["url"],
        "doi": f"{_DOI}{told['doi']}",
        "title": told["title"].strip("{}"),
        "version": told["version"],
        "published": told["year"],
        "creators": told["author"].split(" and "),
        "publisher": told["publisher"],
    }


def model_index(data: bytes) -> Told:
    """No shared field: entries have the names that authors gave them."""
    assert yaml.safe_load(data)["model-index"]
    return {}


def _address(identifier: str) -> str:
    return f"{_DOI}{identifier}" if identifier.startswith("10.") else identifier
