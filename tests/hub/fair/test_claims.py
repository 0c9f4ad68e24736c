"""What records of unlike kinds state, compared with the bytes and cards that were published."""

import hashlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_django.live_server_helper import LiveServer

from registry.services.people.account import organisation_create
from registry.tables import User
from tests.factories import make_token
from tests.hub.fair.kinds import Record, publish

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
    links = anonymous.get(f"{record.page}/linkset").json()["linkset"]
    documents = {link["href"] for one in links for link in one.get("describedby", [])}
    false += [one for one in sorted(documents) if anonymous.get(one).status_code != 200]
    return false + _false_files(anonymous, record, stated)


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
