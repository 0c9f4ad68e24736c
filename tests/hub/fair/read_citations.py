"""Readers of the forms for citing and for provenance: CSL-JSON, RIS, CodeMeta, PROV-JSON.

Each reads the fields of a record that :mod:`tests.hub.fair.test_shared_fields` names. A field that
the record lacks is ``None`` or empty.
"""

import json
from typing import Any

Fields = dict[str, Any]
_DOI = "https://doi.org/"
_ORCID = "https://orcid.org/"


def csl(data: bytes) -> Fields:
    (document,) = json.loads(data)
    ((year, month, day),) = document["issued"]["date-parts"]
    return {
        "pid": document["URL"],
        "doi": _resolved(document.get("DOI")),
        "title": document["title"],
        "text": document.get("abstract"),
        "version": document["version"],
        "published": f"{year:04d}-{month:02d}-{day:02d}",
        "creators": [_csl_name(one) for one in document.get("author", [])],
        "keywords": document["keyword"].split(", ") if "keyword" in document else [],
        "publisher": document["publisher"],
    }


def _resolved(doi: str | None) -> str | None:
    return f"{_DOI}{doi}" if doi else None


def _csl_name(name: dict[str, str]) -> str:
    parts = ("literal", "given", "non-dropping-particle", "family")
    return " ".join(name[part] for part in parts if part in name)


def ris(data: bytes) -> Fields:
    document: dict[str, list[Any]] = {}
    for line in data.decode().split("\r\n")[:-1]:
        tag, _, value = line.partition("  - ")
        document.setdefault(tag, []).append(value)
    assert list(document)[-1] == "ER"
    return {
        "pid": document["UR"][0],
        "doi": _resolved(document.get("DO", [None])[0]),
        "title": document["TI"][0],
        "text": document.get("AB", [None])[0],
        "version": document["ET"][0],
        "published": document["DA"][0].replace("/", "-"),
        "creators": [" ".join(reversed(one.split(", "))) for one in document.get("AU", [])],
        "keywords": document.get("KW", []),
        "publisher": document["PB"][0],
    }


def codemeta(data: bytes) -> Fields:
    document = json.loads(data)
    people = document.get("author", [])
    pid, swhid, swhid_commit = document["identifier"]
    return {
        "pid": pid,
        "landing": document["url"],
        "doi": document.get("sameAs"),
        "swhid": swhid,
        "swhid_commit": swhid_commit,
        "title": document["name"],
        "text": document.get("description"),
        "version": document["version"],
        "created": document["dateCreated"],
        "published": document["datePublished"],
        "modified": document["dateModified"],
        "license": document.get("license", []),
        "creators": [one["name"] for one in people],
        "orcids": {one["name"]: one["id"] for one in people if _ORCID in one.get("id", "")},
        "homes": {
            one["name"]: [(home["name"], home["id"]) for home in one["affiliation"]]
            for one in people
            if "affiliation" in one
        },
        "keywords": document.get("keywords", []),
        "papers": {one["id"] for one in document.get("referencePublication", [])},
        "task": document.get("applicationSubCategory"),
        "publisher": document["publisher"]["name"],
    }


def prov(data: bytes) -> Fields:
    document = json.loads(data)

    def address(name: str) -> str:
        prefix, _, local = name.partition(":")
        return f"{document['prefix'][prefix]}{local}"

    (version,) = document["specializationOf"].values()
    subject = version["prov:specificEntity"]
    entity = document["entity"][subject]
    agents = {
        address(name): document["agent"][name]["prov:label"]
        for one in document.get("wasAttributedTo", {}).values()
        for name in [one["prov:agent"]]
    }
    return {
        "pid": address(subject),
        "concept": address(version["prov:generalEntity"]),
        "landing": entity["schema:url"],
        "title": entity["prov:label"],
        "version": entity["schema:version"],
        "created": entity["dct:created"]["$"],
        "published": entity["dct:issued"]["$"],
        "modified": entity["dct:modified"]["$"],
        "creators": list(agents.values()),
        "orcids": {name: one for one, name in agents.items() if _ORCID in one},
        "parents": {
            address(one["prov:usedEntity"])
            for one in document.get("wasDerivedFrom", {}).values()
            if one["prov:generatedEntity"] == subject
        },
    }
