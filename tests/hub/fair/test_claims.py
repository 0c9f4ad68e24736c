"""What records of unlike kinds state, compared with the bytes and cards that were published."""

import hashlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from pytest_django.live_server_helper import LiveServer

from registry.fair.linked.term import DERIVATIONS
from registry.services.people.account import organisation_create
from registry.tables import User
from tests.factories import make_token
from tests.hub.fair.kinds import Record, publish
from tests.hub.fair.read_creators import CREATORS

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_no_record_states_what_its_files_and_its_card_contradict(
    live_server: LiveServer,
    alice: User,
    bob: User,
    settings: Any,
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HPCFAIR_QUIET", "1")
    settings.HUB_URL = live_server.url
    organisation_create(actor=alice, name="survey", title="The Survey")
    records = publish(live_server.url, make_token(alice), make_token(bob), tmp_path)
    with httpx.Client(base_url=live_server.url, follow_redirects=True) as anonymous:
        false = {name: _false_claims(anonymous, record) for name, record in records.items()}
    assert {name: claims for name, claims in false.items() if claims} == {}


def _false_claims(anonymous: httpx.Client, record: Record) -> list[object]:
    page = anonymous.get(record.page, headers={"Accept": "application/ld+json"})
    if page.status_code != (410 if record.is_withdrawn else 200):
        return [("status of the page", page.status_code)]
    stated = page.json()
    names = tuple(one["name"] for one in stated.get("creator", []))
    false: list[object] = []
    if names != record.creators:
        false.append(("creators in JSON-LD", names))
    datacite = anonymous.get(f"{record.page}/metadata/datacite-json").json()
    cited = tuple(one["name"] for one in datacite["creators"])
    if cited != (record.creators or (":unav",)):
        false.append(("creators in DataCite", cited))
    for key in ("version", "model_name"):
        field = {"version": "version", "model_name": "name"}[key]
        if key in record.card and stated[field] != record.card[key]:
            false.append((field, stated[field]))
    if "license" in record.card:
        uris = [one.get("rightsUri", "").lower() for one in datacite["rightsList"]]
        licence = f"https://spdx.org/licenses/{record.card['license']}"
        if licence not in uris or licence not in json.dumps(stated["license"]).lower():
            false.append(("licence", uris, stated["license"]))
    false += _false_creators(anonymous, record)
    false += _false_relations(record, stated, datacite)
    false += _false_results(anonymous, record, stated)
    links = anonymous.get(f"{record.page}/linkset").json()["linkset"]
    documents = {link["href"] for one in links for link in one.get("describedby", [])}
    false += [one for one in sorted(documents) if anonymous.get(one).status_code != 200]
    return false + _false_files(anonymous, record, stated)


def _false_creators(anonymous: httpx.Client, record: Record) -> list[object]:
    """Formats whose readers need no model, and that name people and organisations alike."""
    expected = sorted(record.creators)
    named = {
        form: sorted(CREATORS[form](anonymous.get(f"{record.page}/metadata/{form}").content))
        for form in ("turtle", "rdfxml", "rocrate", "prov-json")
    }
    return [("creators", form, names) for form, names in named.items() if names != expected]


def _false_relations(record: Record, stated: Any, datacite: Any) -> list[object]:
    """Relations to a source: a copy is identical, a fork and a fine-tuned model are derived."""
    kinds = {kind for kind, term in DERIVATIONS.items() if term in stated and kind != "derived"}
    sources = [one["name"] for one in stated.get("prov:wasDerivedFrom", [])]
    related = {
        one["relationType"]
        for one in datacite["relatedIdentifiers"]
        if one.get("resourceTypeGeneral") == "Model"
    }
    if record.relation is None:
        expected: Any = set(), [], set()
    else:
        term = "IsIdenticalTo" if record.relation == "copy" else "IsDerivedFrom"
        expected = {record.relation}, [str(record.source).removeprefix("/")], {term}
    actual = kinds, sources, related
    return [] if actual == expected else [("relations", actual)]


def _false_results(anonymous: httpx.Client, record: Record, stated: Any) -> list[object]:
    if record.page.startswith("/datasets/"):
        return []
    forms = {
        form: anonymous.get(f"{record.page}/metadata/{form}").content
        for form in ("model-index", "cyclonedx")
    }
    false: list[object] = []
    exported = yaml.safe_load(forms["model-index"])["model-index"]
    if record.results and exported != record.results:
        false.append(("model-index", exported))
    metrics = [
        (metric["type"], metric["value"])
        for entry in record.results
        for result in entry["results"]
        for metric in result["metrics"]
    ]
    card = json.loads(forms["cyclonedx"])["metadata"]["component"]["modelCard"]
    shown = card.get("quantitativeAnalysis", {}).get("performanceMetrics", [])
    document = {
        "CycloneDX": [(one["type"], float(one["value"])) for one in shown],
        "JSON-LD": [
            (one["measurementTechnique"], one["value"])
            for one in _values(stated.get("fair4ml:hasEvaluation", []))
        ],
    }
    return false + [("results", form, of) for form, of in document.items() if of != metrics]


def _values(nodes: Any) -> list[Any]:
    """The nodes with a measured value in ``nodes``, at any depth."""
    if isinstance(nodes, list):
        return [one for node in nodes for one in _values(node)]
    if not isinstance(nodes, dict):
        return []
    if "measurementTechnique" in nodes:
        return [nodes]
    return [one for node in nodes.values() for one in _values(node)]


def _false_files(anonymous: httpx.Client, record: Record, stated: Any) -> list[object]:
    files = {one["name"]: one for one in stated.get("distribution", [])}
    false: list[object] = [("no such file", path) for path in record.files.keys() - files.keys()]
    for path, one in files.items():
        data = record.files.get(path)
        if record.is_withdrawn or record.is_gated:
            if record.is_withdrawn and "contentUrl" in one:
                false.append(("withdrawn, and offered", path))
        else:
            answer = anonymous.get(one["contentUrl"])
            if answer.status_code != 200 or (data is not None and answer.content != data):
                false.append(("bytes", path, answer.status_code))
            data = answer.content
            media_type = answer.headers["Content-Type"].partition(";")[0]
            if one["encodingFormat"].partition(";")[0] != media_type:
                false.append(("media type", path, one["encodingFormat"], media_type))
        if data is None:
            continue
        if (int(one["contentSize"]), one["sha256"]) != (
            len(data),
            hashlib.sha256(data).hexdigest(),
        ):
            false.append(("size or digest", path, json.dumps(one)))
    return false
