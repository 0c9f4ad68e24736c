"""What one version is said to be is the same in every form that it is served in.

Each form is fetched, read by a reader of that form, and asked for the fields it has a word for.
"""

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
import rdflib
import yaml
from django.test import Client

from registry.fair.formats import formats_of
from registry.selectors.directory import directory_oids
from registry.selectors.identifier import identifier_of, identifiers_of, pid_url
from registry.selectors.revision import revision_get
from registry.tables import MLModel, User
from tests.factories import commit_files
from tests.hub.fair.records import CARD, DESCRIPTION, FILES, ORCID, make_record
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db
PAGE = "/lab/galaxy-net"
LICENSE = "https://spdx.org/licenses/Apache-2.0"
SCHEMA = rdflib.Namespace("http://schema.org/")
FAIR4ML = rdflib.Namespace("https://w3id.org/fair4ml#")
DATACITE = "{http://datacite.org/schema/kernel-4}"
Told = dict[str, Any]


@pytest.fixture
def record(charlie: User, lab: object) -> MLModel:
    made = make_record(charlie)
    shopfloor.make_graph(revision_get(made))
    return made


def _digests() -> set[str]:
    contents = (one.encode() if isinstance(one, str) else one for one in FILES.values())
    return {hashlib.sha256(one).hexdigest() for one in contents}


def _people(creators: list[Told]) -> list[str]:
    return [one["name"] for one in creators]


def jsonld(data: bytes) -> Told:
    told = json.loads(data)
    return {
        "pid": told["@id"],
        "title": told["name"],
        "text": told["description"],
        "version": told["version"],
        "license": told["license"][0],
        "creators": _people(told["creator"]),
        "orcid": told["creator"][0]["@id"],
        "keywords": told["keywords"],
        "concept": told["dct:isVersionOf"]["@id"],
        "digests": {one["sha256"] for one in told["distribution"]},
        "swhid": next(
            one["value"]
            for one in told["identifier"]
            if isinstance(one, dict) and ":dir:" in one["value"]
        ),
    }


def turtle(data: bytes) -> Told:
    graph = rdflib.Graph().parse(data=data, format="turtle")
    subject = next(graph.subjects(rdflib.RDF.type, FAIR4ML.MLModel))

    def values(name: str) -> list[str]:
        return [str(one) for one in graph.objects(subject, SCHEMA[name])]

    (license_,) = values("license")
    creators = list(graph.objects(subject, SCHEMA.creator))
    files = graph.objects(subject, SCHEMA.distribution)
    return {
        "pid": str(subject),
        "title": values("name")[0],
        "text": values("description")[0],
        "version": values("version")[0],
        "license": license_,
        "creators": sorted(str(graph.value(one, SCHEMA.name)) for one in creators),
        "orcid": next(str(one) for one in creators if "orcid" in str(one)),
        "keywords": sorted(values("keywords")),
        "digests": {str(graph.value(one, SCHEMA.sha256)) for one in files},
    }


def datacite_json(data: bytes) -> Told:
    told = json.loads(data)
    related = {one["relationType"]: one["relatedIdentifier"] for one in told["relatedIdentifiers"]}
    return {
        "pid": told["alternateIdentifiers"][0]["alternateIdentifier"],
        "title": told["titles"][0]["title"],
        "text": told["descriptions"][0]["description"],
        "version": told["version"],
        "license": told["rightsList"][0]["rightsUri"],
        "creators": _people(told["creators"]),
        "orcid": told["creators"][0]["nameIdentifiers"][0]["nameIdentifier"],
        "keywords": [one["subject"] for one in told["subjects"] if "subjectScheme" not in one],
        "concept": related["IsVersionOf"],
    }


def datacite_xml(data: bytes) -> Told:
    told = ElementTree.fromstring(data)  # noqa: S314 - our own bytes

    def texts(path: str) -> list[str]:
        found = told.findall("/".join(f"{DATACITE}{part}" for part in path.split("/")))
        return [one.text or "" for one in found]

    rights = told.find(f"{DATACITE}rightsList/{DATACITE}rights")
    assert rights is not None
    return {
        "pid": texts("identifier")[0],
        "title": texts("titles/title")[0],
        "text": texts("descriptions/description")[0],
        "version": texts("version")[0],
        "license": rights.get("rightsURI"),
        "creators": texts("creators/creator/creatorName"),
        "orcid": texts("creators/creator/nameIdentifier")[0],
    }


def rocrate(data: bytes) -> Told:
    told = {one["@id"]: one for one in json.loads(data)["@graph"]}
    root = told[told["ro-crate-metadata.json"]["about"]["@id"]]
    swhid = next(told[one["@id"]] for one in root["identifier"] if one["@id"] == "#swh")
    return {
        "pid": root["@id"],
        "title": root["name"],
        "text": root["description"],
        "version": root["version"],
        "license": root["license"]["@id"],
        "creators": [told[one["@id"]]["name"] for one in root["creator"]],
        "orcid": root["creator"][0]["@id"],
        "keywords": root["keywords"],
        "digests": {told[one["@id"]]["sha256"] for one in root["hasPart"]},
        "swhid": swhid["value"],
    }


def croissant(data: bytes) -> Told:
    told = json.loads(data)
    return {
        "pid": told["isBasedOn"]["@id"],
        "version": told["version"],
        "license": told["license"],
        "creators": _people(told["creator"]),
        "orcid": told["creator"][0]["@id"],
        "keywords": told["keywords"],
    }


def cyclonedx(data: bytes) -> Told:
    told = json.loads(data)["metadata"]["component"]
    elsewhere = {one.get("comment", ""): one["url"] for one in told["externalReferences"]}
    properties = {one["name"]: one["value"] for one in told["properties"]}
    (license_,) = told["licenses"]
    return {
        "pid": elsewhere["persistent identifier of this version"],
        "concept": elsewhere["persistent identifier of all versions"],
        "title": properties["hpcfair:title"],
        "text": told["description"],
        "version": told["version"],
        "license": license_["expressionDetails"][0]["url"],
        "creators": _people(told["authors"]),
        "orcid": next(value for name, value in properties.items() if ":orcid:" in name),
        "keywords": told["tags"],
        "digests": {one["hashes"][0]["content"] for one in told["components"]},
        "swhid": told["swhid"][0],
    }


def spdx(data: bytes) -> Told:
    graph = json.loads(data)["@graph"]
    told = {one["spdxId"]: one for one in graph if "spdxId" in one}
    package = next(one for one in graph if one["type"] == "ai_AIPackage")
    creators = [told[one] for one in package["originatedBy"]]
    expression = next(one for one in graph if one["type"].endswith("LicenseExpression"))
    files = [one for one in graph if one["type"] == "software_File"]
    return {
        "pid": package["spdxId"],
        "title": package["name"],
        "text": package["summary"],
        "version": package["software_packageVersion"],
        "license": LICENSE.replace("Apache-2.0", expression["simplelicensing_licenseExpression"]),
        "creators": _people(creators),
        "orcid": creators[0]["externalIdentifier"][0]["identifier"],
        "digests": {one["verifiedUsing"][0]["hashValue"] for one in files},
        "swhid": package["software_contentIdentifier"][0]["software_contentIdentifierValue"],
    }


def cff(data: bytes) -> Told:
    told = yaml.safe_load(data)
    identifiers = {one["description"]: one["value"] for one in told["identifiers"]}
    return {
        "pid": next(one["value"] for one in told["identifiers"] if one["type"] == "url"),
        "concept": identifiers["All versions"],
        "title": told["title"],
        "text": told["abstract"],
        "version": told["version"],
        "license": LICENSE.replace("Apache-2.0", told["license"]),
        "creators": [one["family-names"] for one in told["authors"]],
        "orcid": told["authors"][0]["orcid"],
        "keywords": told["keywords"],
        "swhid": identifiers["The files of this version"],
    }


def bibtex(data: bytes) -> Told:
    told = dict(re.findall(r"^  (\w+) = \{(.*)\},$", data.decode(), re.MULTILINE))
    return {
        "pid": told["url"],
        "title": told["title"].strip("{}"),
        "version": told["version"],
        "creators": told["author"].split(" and "),
    }


def model_index(data: bytes) -> Told:
    (told,) = yaml.safe_load(data)["model-index"]
    return {"title": told["name"]}


READERS: dict[str, Callable[[bytes], Told]] = {
    "jsonld": jsonld,
    "turtle": turtle,
    "datacite-json": datacite_json,
    "datacite-xml": datacite_xml,
    "rocrate": rocrate,
    "croissant": croissant,
    "cyclonedx": cyclonedx,
    "spdx": spdx,
    "cff": cff,
    "bibtex": bibtex,
    "model-index": model_index,
}


def test_every_form_says_the_same_of_what_it_has_words_for(client: Client, record: MLModel) -> None:
    revision = revision_get(record)
    version, concept = identifier_of(revision), identifiers_of(record).first()
    assert version is not None
    assert concept is not None
    truth = {
        "pid": pid_url(version.name),
        "concept": pid_url(concept.name),
        "title": CARD["model_name"],
        "text": DESCRIPTION,
        "version": CARD["version"],
        "license": LICENSE,
        "creators": ["Josiah Carberry", "Ada Beispiel"],
        "orcid": ORCID,
        "keywords": CARD["tags"],
        "swhid": f"swh:1:dir:{directory_oids([revision])[revision.pk]}",
    }
    truth["digests"] = set(revision.files.values_list("blob_id", flat=True))
    assert truth["digests"] >= _digests()
    assert set(READERS) == {one.name for one in formats_of("model")}
    for name, read in READERS.items():
        told = read(client.get(f"{PAGE}/metadata/{name}").content)
        for field, value in told.items():
            wanted = truth[field]
            # Triples have no order.
            wanted = sorted(wanted) if name == "turtle" and isinstance(wanted, list) else wanted
            assert value == wanted, (name, field)


def test_what_is_measured_is_a_table_of_the_same_version(client: Client, record: MLModel) -> None:
    answer = client.get(f"{PAGE}/measurements/trials.csv")
    text = b"".join(answer).decode()
    assert list(csv.DictReader(io.StringIO(text))) == []
    assert text.startswith("trial,job,number")


def test_a_new_version_has_an_identifier_of_its_own_and_the_old_one_keeps_its_own(
    client: Client, record: MLModel, charlie: User
) -> None:
    old = revision_get(record)
    before = client.get(f"{PAGE}/metadata/jsonld?revision={old.oid}").json()
    commit_files(record, {"notes.txt": "new\n"}, actor=charlie)
    after = client.get(f"{PAGE}/metadata/jsonld").json()
    again = client.get(f"{PAGE}/metadata/jsonld?revision={old.oid}").json()
    assert after["@id"] != before["@id"] == again["@id"]
    assert after["dct:isVersionOf"]["@id"] == again["dct:isVersionOf"]["@id"]
    assert again["distribution"] == before["distribution"]
    assert before["@id"] in [one["@id"] for one in after["dct:isVersionOf"]["dct:hasVersion"]]
