"""Readers of the forms for citing and for provenance: CSL-JSON, RIS, CodeMeta, PROV-JSON.

Each tells fields of a record by the names of :mod:`tests.hub.fair.test_shared_fields`.
"""

import json
from typing import Any

Told = dict[str, Any]
_DOI = "https://doi.org/"
_ORCID = "https://orcid.org/"


def csl(data: bytes) -> Told:
    (told,) = json.loads(data)
    ((year, month, day),) = told["issued"]["date-parts"]
    return {
        "pid": told["URL"],
        "doi": f"{_DOI}{told['DOI']}",
        "title": told["title"],
        "text": told["abstract"],
        "version": told["version"],
        "published": f"{year:04d}-{month:02d}-{day:02d}",
        "creators": [f"{one['given']} {one['family']}" for one in told["author"]],
        "keywords": told["keyword"].split(", "),
        "publisher": told["publisher"],
    }


def ris(data: bytes) -> Told:
    told: dict[str, list[str]] = {}
    for line in data.decode().split("\r\n")[:-1]:
        tag, _, value = line.partition("  - ")
        told.setdefault(tag, []).append(value)
    assert list(told)[-1] == "ER"
    return {
        "pid": told["UR"][0],
        "doi": f"{_DOI}{told['DO'][0]}",
        "title": told["TI"][0],
        "text": told["AB"][0],
        "version": told["ET"][0],
        "published": told["DA"][0].replace("/", "-"),
        "creators": [" ".join(reversed(one.split(", "))) for one in told["AU"]],
        "keywords": told["KW"],
        "publisher": told["PB"][0],
    }


def codemeta(data: bytes) -> Told:
    told = json.loads(data)
    people = told["author"]
    pid, swhid, swhid_commit = told["identifier"]
    return {
        "pid": pid,
        "landing": told["url"],
        "doi": told["sameAs"],
        "swhid": swhid,
        "swhid_commit": swhid_commit,
        "title": told["name"],
        "text": told["description"],
        "version": told["version"],
        "created": told["dateCreated"],
        "published": told["datePublished"],
        "modified": told["dateModified"],
        "license": told["license"],
        "creators": [one["name"] for one in people],
        "orcids": {one["name"]: one["id"] for one in people if _ORCID in one.get("id", "")},
        "homes": {
            one["name"]: [(home["name"], home["id"]) for home in one["affiliation"]]
            for one in people
            if "affiliation" in one
        },
        "keywords": told["keywords"],
        "papers": {one["id"] for one in told["referencePublication"]},
        "task": told["applicationSubCategory"],
        "publisher": told["publisher"]["name"],
    }


def prov(data: bytes) -> Told:
    told = json.loads(data)

    def address(name: str) -> str:
        prefix, _, local = name.partition(":")
        return f"{told['prefix'][prefix]}{local}"

    (version,) = told["specializationOf"].values()
    subject = version["prov:specificEntity"]
    entity = told["entity"][subject]
    agents = {
        address(name): told["agent"][name]["prov:label"]
        for one in told["wasAttributedTo"].values()
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
            for one in told["wasDerivedFrom"].values()
            if one["prov:generatedEntity"] == subject
        },
    }
