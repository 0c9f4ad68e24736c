"""Readers of the forms that are linked data: JSON-LD, Turtle, RDF/XML, RO-Crate, Croissant.

Each reads the fields of a record that :mod:`tests.hub.fair.test_shared_fields` names. A field that
the record lacks is ``None`` or empty.
"""

import json
from typing import Any

import rdflib
from rdflib.term import Node

Fields = dict[str, Any]
_SCHEMA = rdflib.Namespace("http://schema.org/")
_FAIR4ML = rdflib.Namespace("https://w3id.org/fair4ml#")
_DCT = rdflib.Namespace("http://purl.org/dc/terms/")
_PROV = rdflib.Namespace("http://www.w3.org/ns/prov#")
_ORCID = "https://orcid.org/"


def listed(value: Any) -> list[Any]:
    """One value, several or none as a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def jsonld(data: bytes) -> Fields:
    document = json.loads(data)
    creators, files = document.get("creator", []), document.get("distribution", [])
    swhids = [one["value"] for one in document["identifier"] if isinstance(one, dict)]
    return {
        "pid": document["@id"],
        "concept": document["dct:isVersionOf"]["@id"],
        "landing": document["url"],
        "doi": document.get("sameAs"),
        "swhid": swhids[0],
        "swhid_commit": swhids[1],
        "title": document["name"],
        "text": document.get("description"),
        "version": document["version"],
        "created": document["dateCreated"],
        "published": document["datePublished"],
        "modified": document["dateModified"],
        "license": document.get("license", []),
        "creators": [one["name"] for one in creators],
        "orcids": {one["name"]: one["@id"] for one in creators if _ORCID in one.get("@id", "")},
        "homes": {
            one["name"]: [(home["name"], home["@id"]) for home in one["affiliation"]]
            for one in creators
            if "affiliation" in one
        },
        "keywords": document.get("keywords", []),
        "languages": document.get("inLanguage", []),
        "files": {one["name"]: one["sha256"] for one in files},
        "sizes": {one["name"]: int(one["contentSize"]) for one in files},
        "parents": {one["@id"] for one in document.get("prov:wasDerivedFrom", [])},
        "papers": {one["@id"] for one in document.get("citation", [])},
        "data": {one["@id"] for one in document.get("fair4ml:trainedOn", [])},
        "task": document.get("fair4ml:mlTask", {}).get("termCode"),
        "publisher": document["publisher"]["name"],
    }


def turtle(data: bytes) -> Fields:
    return _triples(rdflib.Graph().parse(data=data, format="turtle"))


def rdfxml(data: bytes) -> Fields:
    return _triples(rdflib.Graph().parse(data=data, format="xml"))


def _triples(graph: rdflib.Graph) -> Fields:
    (subject,) = graph.subjects(_DCT.isVersionOf)

    def nodes(predicate: rdflib.URIRef, of: Node = subject) -> list[Node]:
        return sorted(graph.objects(of, predicate))

    def texts(name: str, of: Node = subject) -> list[str]:
        return [str(one) for one in nodes(_SCHEMA[name], of)]

    def only(name: str, of: Node = subject) -> str:
        (text,) = texts(name, of)
        return text

    def perhaps(name: str) -> str | None:
        return only(name) if texts(name) else None

    creators = {only("name", one): one for one in nodes(_SCHEMA.creator)}
    homes = {name: nodes(_SCHEMA.affiliation, one) for name, one in creators.items()}
    files = {only("name", one): one for one in nodes(_SCHEMA.distribution)}
    tasks = [one for task in nodes(_FAIR4ML.mlTask) for one in texts("termCode", task)]
    swhids = [only("value", one) for one in nodes(_SCHEMA.identifier) if texts("value", one)]
    return {
        "pid": str(subject),
        "concept": str(graph.value(subject, _DCT.isVersionOf)),
        "landing": only("url"),
        "doi": perhaps("sameAs"),
        "swhid": next(one for one in swhids if ":dir:" in one),
        "swhid_commit": next(one for one in swhids if ":rev:" in one),
        "title": only("name"),
        "text": perhaps("description"),
        "version": only("version"),
        "created": only("dateCreated"),
        "published": only("datePublished"),
        "modified": only("dateModified"),
        "license": texts("license"),
        "creators": list(creators),
        "orcids": {name: str(one) for name, one in creators.items() if _ORCID in str(one)},
        "homes": {
            name: [(only("name", one), str(one)) for one in own]
            for name, own in homes.items()
            if own
        },
        "keywords": texts("keywords"),
        "languages": texts("inLanguage"),
        "files": {path: only("sha256", one) for path, one in files.items()},
        "sizes": {path: int(only("contentSize", one)) for path, one in files.items()},
        "parents": set(map(str, nodes(_PROV.wasDerivedFrom))),
        "papers": set(texts("citation")),
        "data": set(map(str, nodes(_FAIR4ML.trainedOn))),
        "task": next(iter(tasks), None),
        "publisher": only("name", graph.value(subject, _SCHEMA.publisher)),
    }


def rocrate(data: bytes) -> Fields:
    document = {one["@id"]: one for one in json.loads(data)["@graph"]}
    root = document[document["ro-crate-metadata.json"]["about"]["@id"]]

    def entities(name: str, of: Fields = root) -> list[Fields]:
        return [document[one["@id"]] for one in listed(of.get(name))]

    def names(name: str) -> set[str]:
        return {one["@id"] for one in entities(name)}

    identifiers = {one["name"]: one["value"] for one in entities("identifier")}
    creators = entities("creator")
    files = [one for one in entities("hasPart") if "sha256" in one]
    homes = {one["name"]: entities("affiliation", one) for one in creators}
    return {
        "pid": identifiers["ARK"],
        "concept": root["isVersionOf"]["@id"],
        "landing": root["url"],
        "doi": identifiers.get("DOI"),
        "swhid": identifiers["SWHID of the files"],
        "swhid_commit": identifiers["SWHID of the commit"],
        "title": root["name"],
        "text": root.get("description"),
        "version": root["version"],
        "created": root["dateCreated"],
        "published": root["datePublished"],
        "modified": root["dateModified"],
        "license": [one["@id"] for one in entities("license")],
        "creators": [one["name"] for one in creators],
        "orcids": {one["name"]: one["@id"] for one in creators if _ORCID in one["@id"]},
        "homes": {
            name: [(one["name"], one["@id"]) for one in own] for name, own in homes.items() if own
        },
        "keywords": listed(root.get("keywords")),
        "languages": listed(root.get("inLanguage")),
        "files": {one["name"]: one["sha256"] for one in files},
        "sizes": {one["name"]: int(one["contentSize"]) for one in files},
        "parents": names("wasDerivedFrom"),
        "papers": names("citation"),
        "data": names("trainedOn"),
        "task": root.get("mlTask"),
        "publisher": entities("publisher")[0]["name"],
    }


def croissant(data: bytes) -> Fields:
    """Of a data set itself; of a model, the log of its measurements and whose log it is."""
    document = json.loads(data)
    creators = listed(document.get("creator"))
    homes = {one["name"]: listed(one.get("affiliation")) for one in creators}
    shared = {
        "landing": document["url"],
        "version": document["version"],
        "created": document["dateCreated"],
        "published": document["datePublished"],
        "modified": document["dateModified"],
        "license": listed(document["license"]),
        "creators": [one["name"] for one in creators],
        "orcids": {one["name"]: one["@id"] for one in creators if _ORCID in one.get("@id", "")},
        "homes": {
            name: [(one["name"], one["@id"]) for one in own] for name, own in homes.items() if own
        },
        "keywords": listed(document.get("keywords")),
        "languages": listed(document.get("inLanguage")),
        "publisher": document["publisher"]["name"],
    }
    if "isLiveDataset" in document:
        return shared | {"pid": document["isBasedOn"]["@id"]}
    files = document.get("distribution", [])
    return shared | {
        "pid": document["@id"],
        "doi": document.get("sameAs"),
        "title": document["name"],
        "text": document["description"],
        "files": {one["name"]: one["sha256"] for one in files},
        "sizes": {one["name"]: int(one["contentSize"].removesuffix(" B")) for one in files},
        "parents": {one["@id"] for one in listed(document.get("prov:wasDerivedFrom"))},
        "papers": set(listed(document.get("citation"))),
    }
