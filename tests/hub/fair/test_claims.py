"""What records of unlike kinds state, compared with the bytes and cards that were published."""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from pytest_django.live_server_helper import LiveServer

from registry.fair.formats import formats_of
from registry.fair.linked.term import DERIVATIONS
from registry.services.people.account import organisation_create
from registry.tables import User
from tests.factories import make_token
from tests.hub.fair.fields import READERS, Fields, agrees
from tests.hub.fair.kinds import Record, publish
from workers.jobs import run

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
    tokens = make_token(alice), make_token(bob)
    records = publish(live_server.url, *tokens, tmp_path, inspect=run.drain_inspections)
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
    false += _false_fields(anonymous, record)
    false += _false_relations(record, stated, datacite)
    false += _false_results(anonymous, record, stated)
    links = anonymous.get(f"{record.page}/linkset").json()["linkset"]
    documents = {link["href"] for one in links for link in one.get("describedby", [])}
    false += [one for one in sorted(documents) if anonymous.get(one).status_code != 200]
    return false + _false_files(anonymous, record, stated)


def _false_fields(anonymous: httpx.Client, record: Record) -> list[object]:
    """Fields of all formats that differ from the card, or from JSON-LD where the card has none."""
    kind = "dataset" if record.page.startswith("/datasets/") else "model"
    fields = {
        form.name: READERS[form.name](anonymous.get(f"{record.page}/metadata/{form.name}").content)
        for form in formats_of(kind)
        # Its entries have the names that authors gave them.
        if form.name != "model-index" or record.results
    }
    truth = _moments(fields["jsonld"]) | {
        field: value
        for field, (key, read) in _OF_CARD.items()
        if (value := read(record.card.get(key))) is not None
    }
    return [
        (form, field, value, truth[field])
        for form, own in fields.items()
        for field, value in own.items()
        if (form, field) not in _ELSEWHERE
        and not agrees(form, _plain(field, value), _plain(field, truth[field]))
    ]


#: Field to the key of the card and how its value reads; ``None`` where the hub fills a gap.
_OF_CARD: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "license": ("license", lambda name: name and [SPDX.get(name)]),
    "creators": ("authors", lambda authors: [one["name"] for one in authors or ()]),
    "keywords": ("tags", lambda tags: tags),
    "languages": ("language", lambda languages: languages),
    "orcids": ("authors", lambda authors: {
        one["name"]: _orcid(one["orcid"]) for one in authors or () if "orcid" in one
    }),
}  # fmt: skip
SPDX = {
    name.lower(): f"https://spdx.org/licenses/{name}" for name in ("MIT", "Apache-2.0", "CC-BY-4.0")
}
#: Fields that a format has another rule for: a copy is no derivation in DataCite, which has one
#: language; a crate must have a description.
_ELSEWHERE = {
    ("datacite-json", "parents"),
    ("datacite-xml", "parents"),
    ("datacite-json", "languages"),
    ("datacite-xml", "languages"),
    ("rocrate", "text"),
}
_UNKNOWN = {":unav", "anonymous"}


def _orcid(text: str) -> str:
    return f"https://orcid.org/{text.removeprefix('https://orcid.org/')}"


def _moments(fields: Fields) -> Fields:
    dates = ("created", "published", "modified")
    return fields | {name: datetime.fromisoformat(fields[name]) for name in dates}


def _plain(field: str, value: Any) -> Any:
    """``value`` without the placeholders of formats that demand one, and licences of SPDX alone;
    files without the test tensors that the hub made."""
    if field == "creators":
        return [name for name in value if name not in _UNKNOWN]
    if field == "license":
        return [one for one in value if one in SPDX.values()]
    if field in {"files", "sizes"}:
        value = {name: one for name, one in value.items() if not name.startswith("test_data_set_")}
    return value or None


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
