"""Readers of the creators that each form names, in order."""

import json
import re
from collections.abc import Callable
from typing import Any

import rdflib
import yaml

from tests.registry.fair.xml import DATACITE, read, texts

_SCHEMA = rdflib.Namespace("http://schema.org/")


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _nested(data: bytes) -> list[str]:
    return [one["name"] for one in _listed(json.loads(data).get("creator"))]


def _csl(data: bytes) -> list[str]:
    (item,) = _listed(json.loads(data))
    return [f"{one['given']} {one['family']}" for one in item.get("author", [])]


def _ris(data: bytes) -> list[str]:
    authors = re.findall(r"^AU  - (.*?)\r?$", data.decode(), re.MULTILINE)
    return [" ".join(reversed(one.split(", "))) for one in authors]


def _codemeta(data: bytes) -> list[str]:
    return [one["name"] for one in json.loads(data).get("author", [])]


def _prov(data: bytes) -> list[str]:
    document = json.loads(data)
    agents = [one["prov:agent"] for one in document.get("wasAttributedTo", {}).values()]
    return [document["agent"][one]["prov:label"] for one in agents]


def _turtle(data: bytes) -> list[str]:
    return _triples(rdflib.Graph().parse(data=data, format="turtle"))


def _rdfxml(data: bytes) -> list[str]:
    return _triples(rdflib.Graph().parse(data=data, format="xml"))


def _triples(graph: rdflib.Graph) -> list[str]:
    (subject,) = graph.subjects(rdflib.URIRef("http://purl.org/dc/terms/isVersionOf"))
    creators = graph.objects(subject, _SCHEMA.creator)
    return sorted(str(graph.value(one, _SCHEMA.name)) for one in creators)


def _rocrate(data: bytes) -> list[str]:
    entities = {one["@id"]: one for one in json.loads(data)["@graph"]}
    root = entities[entities["ro-crate-metadata.json"]["about"]["@id"]]
    return [entities[one["@id"]]["name"] for one in _listed(root.get("creator"))]


def _datacite_json(data: bytes) -> list[str]:
    return [one["name"] for one in json.loads(data)["creators"]]


def datacite_xml(data: bytes) -> list[str]:
    return texts(read(data), f"{DATACITE}creatorName")


def _cyclonedx(data: bytes) -> list[str]:
    model = json.loads(data)["metadata"]["component"]
    assert not model.keys() & {"author", "manufacturer"} or model.get("authors")
    return [one["name"] for one in model.get("authors", [])]


def _spdx(data: bytes) -> list[str]:
    graph = json.loads(data)["@graph"]
    named = {one["spdxId"]: one for one in graph if "spdxId" in one}
    (bill,) = [one for one in graph if one["type"] == "software_Sbom"]
    package = named[bill["rootElement"][0]]
    several = [one["to"] for one in graph if one.get("comment") == "created by"]
    return [named[one]["name"] for one in [*several, package.get("originatedBy", [])][0]]


def _cff(data: bytes) -> list[str]:
    return [
        one.get("name") or " ".join(filter(None, (one.get("given-names"), one["family-names"])))
        for one in yaml.safe_load(data)["authors"]
    ]


def _bibtex(data: bytes) -> list[str]:
    authors = re.search(r"^  author = \{(.*)\},$", data.decode(), re.MULTILINE)
    return authors[1].split(" and ") if authors else []


#: By name of a form, for all that name creators.
CREATORS: dict[str, Callable[[bytes], list[str]]] = {
    "jsonld": _nested,
    "croissant": _nested,
    "turtle": _turtle,
    "rdfxml": _rdfxml,
    "csl": _csl,
    "ris": _ris,
    "codemeta": _codemeta,
    "prov-json": _prov,
    "rocrate": _rocrate,
    "datacite-json": _datacite_json,
    "datacite-xml": datacite_xml,
    "cyclonedx": _cyclonedx,
    "spdx": _spdx,
    "cff": _cff,
    "bibtex": _bibtex,
}
#: Forms without a word for people.
NAMELESS = {"model-index"}
#: What stands for unknown creators in forms that require one.
UNKNOWN = {
    "datacite-json": [":unav"],
    "datacite-xml": [":unav"],
    "oai_datacite": [":unav"],
    "cff": ["anonymous"],
    "erc": ["(:unav)"],
}
