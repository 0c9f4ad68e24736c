"""Readers of the forms for citing and for provenance: CSL-JSON, RIS, CodeMeta, PROV-JSON.

Each tells fields of a record by the names of :mod:`tests.hub.fair.test_shared_fields`.
"""

import json
from typing import Any

Told = dict[str, Any]
_DOI = "https://doi.org/"
_ORCID = "https://orcid.org/"


def csl(data: bytes) -> Told:
    (document,) = json.loads(data)
    ((year, month, day),) = document["issued"]["date-parts"]
    return {
        "pid": document["URL"],
        "doi": f"{_DOI}{document['DOI']}",
        "title": document["title"],
        "text": document["abstract"],
        "version": document["version"],
        "published": f"{year:04d}-{month:02d}-{day:02d}",
        "creators": [f"{one['given']} {one['family']}" for one in document["author"]],
        "keywords": document["keyword"].split(", "),
        "publisher": document["publisher"],
    }


def ris(data: bytes) -> Told:
    document: dict[str, list[str]] = {}
    for line in data.decode().split("\r\n")[:-1]:
        tag, _, value = line.partition("  - ")
        document.setdefault(tag, []).append(value)
    assert list(document)[-1] == "ER"
    return {
        "pid": document["UR"][0],
        "doi": f"{_DOI}{document['DO'][0]}",
        "title": document["TI"][0],
        "text": document["AB"][0],
        "version": document["ET"][0],
        "published": document["DA"][0].replace("/", "-"),
        "creators": [" ".join(reversed(one.split(", "))) for one in document["AU"]],
        "keywords": document["KW"],
        "publisher": document["PB"][0],
    }


def codemeta(data: bytes) -> Told:
    document = json.loads(data)
    people = document["author"]
    pid, swhid, swhid_commit = document["identifier"]
    return {
        "pid": pid,
        "landing": document["url"],
        "doi": document["sameAs"],
        "swhid": swhid,
        "swhid_commit": swhid_commit,
        "title": document["name"],
        "text": document["description"],
        "version": document["version"],
        "created": document["dateCreated"],
        "published": document["datePublished"],
        "modified": document["dateModified"],
        "license": document["license"],
        "creators": [one["name"] for one in people],
        "orcids": {one["name"]: one["id"] for one in people if _ORCID in one.get("id", "")},
        "homes": {
            one["name"]: [(home["name"], home["id"]) for home in one["affiliation"]]
            for one in people
            if "affiliation" in one
        },
        "keywords": document["keywords"],
        "papers": {one["id"] for one in document["referencePublication"]},
        "task": document["applicationSubCategory"],
        "publisher": document["publisher"]["name"],
    }


def prov(data: bytes) -> Told:
    document = json.loads(data)

    def address(name: str) -> str:
        prefix, _, local = name.partition(":")
        return f"{document['prefix'][prefix]}{local}"

    (version,) = document["specializationOf"].values()
    subject = version["prov:specificEntity"]
    entity = document["entity"][subject]
    agents = {
        address(name): document["agent"][name]["prov:label"]
        for one in document["wasAttributedTo"].values()
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
            for one in document["wasDerivedFrom"].values()
            if one["prov:generatedEntity"] == subject
        },
    }
