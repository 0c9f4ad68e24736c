"""OAI-PMH as harvesters meet it: over HTTP, part by part, over a hub that changes."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from hub.fair import oai
from registry.selectors.fair.identifier import pid_url
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_update
from registry.states import IdentifierKind, RepositoryKind, Visibility
from registry.tables import MLModel, User
from tests.factories import commit_files, make_mlmodel
from tests.hub.fair.records import make_data_record, make_record
from tests.registry.fair.xml import DC, OAI, attributes, read, texts
from tests.validators.environments import run

pytestmark = pytest.mark.django_db

_HARVESTER = Path(__file__).parents[2] / "validators" / "oai_harvest.py"


def pid_of(mlmodel: MLModel) -> str:
    return pid_url(mlmodel.identifiers.get(kind=IdentifierKind.CONCEPT).name)


def ask(client: Client, **arguments: str) -> Element:
    answer = client.get("/oai", {"verb": "ListRecords", **arguments})
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/xml; charset=utf-8"
    return read(answer.content)


def refused(client: Client, **arguments: str) -> str:
    (told,) = attributes(ask(client, **arguments), f"{OAI}error")
    return told["code"]


def tokens(root: Element) -> list[str]:
    return texts(root, f"{OAI}resumptionToken")


def in_parts(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(oai, "AT_ONCE", {"ListRecords": at_once, "ListIdentifiers": at_once})


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_harvester_of_others_reads_the_whole_hub_in_parts(
    live_server: LiveServer,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    charlie: User,
    lab: object,
    secret: MLModel,
) -> None:
    settings.HUB_URL = live_server.url
    settings.PUBLISHER_EMAIL = "desk@example.org"
    in_parts(monkeypatch, 2)
    made = [make_record(charlie), make_data_record(charlie)]
    made += [make_mlmodel(f"lab/m{number}", actor=charlie) for number in range(3)]
    pids = [pid_of(one) for one in made]
    mlmodel_delete(actor=charlie, mlmodel=made.pop(2), reason="Wrong.")

    found = json.loads(run("oai", "python", str(_HARVESTER), f"{live_server.url}/oai"))

    assert found["Identify"][:2] == ["persistent", "desk@example.org"]
    assert found["ListSets"] == ["models", "datasets"]
    order = [pids[0], pids[1], pids[3], pids[4], pids[2]]
    for prefix in ("oai_dc", "oai_datacite", "datacite"):
        assert [one[0] for one in found[prefix]] == order
        assert [one[1] for one in found[prefix]] == [False, False, False, False, True]
        assert [one[:4] for one in found[prefix]] == found["ListIdentifiers"]
        stamps = [one[3] for one in found[prefix]]
        assert all(one <= other for one, other in pairwise(stamps))
        assert found["Identify"][2] <= stamps[0]
    whole, data = found["oai_dc"][0][4], found["oai_dc"][1][4]
    assert whole["title"] == ["Galaxy CNN: morphology"]
    assert whole["creator"] == ["Josiah Carberry", "Ada Beispiel"]
    assert data["type"] == ["Dataset"]
    assert found["oai_dc"][1][2] == ["datasets"]
    assert found["datacite"][0][4]["resourceType"]


def test_nothing_private_is_ever_told_to_whoever_asks(
    client: Client, galaxy: MLModel, secret: MLModel, charlie: User
) -> None:
    hidden = {pid_of(secret), *map(pid_url, secret.identifiers.values_list("name", flat=True))}
    client.force_login(charlie)
    for verb in ("ListRecords", "ListIdentifiers"):
        root = ask(client, verb=verb, metadataPrefix="oai_dc")
        assert texts(root, f"{OAI}identifier") == [pid_of(galaxy)]
    for pid in hidden:
        asked = {"identifier": pid, "metadataPrefix": "oai_dc"}
        assert refused(client, verb="GetRecord", **asked) == "idDoesNotExist"
        assert refused(client, verb="ListMetadataFormats", identifier=pid) == "idDoesNotExist"


def test_what_goes_is_a_deleted_record_from_then_on(
    client: Client, galaxy: MLModel, charlie: User
) -> None:
    pid = pid_of(galaxy)
    shut = make_mlmodel("lab/shut", actor=charlie)
    shut_pid = pid_of(shut)
    mlmodel_delete(actor=charlie, mlmodel=galaxy, reason="Wrong.")
    mlmodel_update(actor=charlie, mlmodel=shut, visibility=Visibility.PRIVATE)

    root = ask(client, metadataPrefix="oai_dc")

    assert texts(root, f"{OAI}identifier") == [pid, shut_pid]
    assert [one["status"] for one in attributes(root, f"{OAI}header")] == ["deleted", "deleted"]
    assert not list(root.iter(f"{OAI}metadata"))
    for one in (pid, shut_pid):
        alone = ask(client, verb="GetRecord", identifier=one, metadataPrefix="datacite")
        assert list(attributes(alone, f"{OAI}header")) == [{"status": "deleted"}]
        assert not list(alone.iter(f"{OAI}metadata"))


def test_one_record_is_the_one_of_the_list(client: Client, galaxy: MLModel) -> None:
    listed = ask(client, metadataPrefix="oai_dc")
    alone = ask(client, verb="GetRecord", identifier=pid_of(galaxy), metadataPrefix="oai_dc")
    for tag in (f"{OAI}datestamp", f"{DC}identifier", f"{DC}title", f"{OAI}setSpec"):
        assert texts(listed, tag) == texts(alone, tag) != []
    assert texts(alone, f"{OAI}setSpec") == ["models"]
    assert not tokens(listed)


def test_posting_is_as_good_as_asking(client: Client, galaxy: MLModel) -> None:
    posted = client.post("/oai", {"verb": "ListIdentifiers", "metadataPrefix": "oai_dc"})
    assert texts(read(posted.content), f"{OAI}identifier") == [pid_of(galaxy)]
    strict = Client(enforce_csrf_checks=True)
    assert strict.post("/oai", {"verb": "Identify"}).status_code == 200
    assert client.put("/oai").status_code == 405
    assert client.head("/oai?verb=Identify").status_code == 200


def test_parts_lead_on_while_the_hub_changes(
    client: Client, monkeypatch: pytest.MonkeyPatch, charlie: User, lab: object
) -> None:
    made = [make_mlmodel(f"lab/m{number}", actor=charlie) for number in range(5)]
    pids = [pid_of(one) for one in made]
    in_parts(monkeypatch, 2)
    part = ask(client, verb="ListIdentifiers", metadataPrefix="oai_dc")
    (token,) = tokens(part)
    assert list(attributes(part, f"{OAI}resumptionToken")) == [
        {"completeListSize": "5", "cursor": "0"}
    ]
    commit_files(made[2], {"a.txt": "a"}, actor=charlie)
    found = texts(part, f"{OAI}identifier")
    while token:
        part = ask(client, verb="ListIdentifiers", resumptionToken=token)
        # A harvester that lost an answer asks again, and gets the same.
        again = ask(client, verb="ListIdentifiers", resumptionToken=token)
        assert texts(part, f"{OAI}identifier") == texts(again, f"{OAI}identifier")
        (token,) = tokens(part)
        found += texts(part, f"{OAI}identifier")
    assert found == [pids[0], pids[1], pids[3], pids[4], pids[2]]


def test_a_token_is_good_for_its_own_list_alone(
    client: Client, monkeypatch: pytest.MonkeyPatch, charlie: User, lab: object
) -> None:
    for number in range(2):
        make_mlmodel(f"lab/m{number}", actor=charlie)
    in_parts(monkeypatch, 1)
    (token,) = tokens(ask(client, metadataPrefix="oai_dc"))
    bad = [token[:-1], f"{token}x", "", "a", token.swapcase(), "\u00e9:\u00e9:\u00e9"]
    for one in bad:
        assert refused(client, resumptionToken=one) == "badResumptionToken"
    for verb in ("ListIdentifiers", "ListSets"):
        assert refused(client, verb=verb, resumptionToken=token) == "badResumptionToken"
    assert texts(ask(client, resumptionToken=token), f"{DC}title") == ["m1"]


def test_lists_are_cut_by_set_and_time(
    client: Client, monkeypatch: pytest.MonkeyPatch, galaxy: MLModel, charlie: User
) -> None:
    data = [
        make_mlmodel(f"lab/d{number}", actor=charlie, kind=RepositoryKind.DATASET)
        for number in range(2)
    ]
    in_parts(monkeypatch, 1)
    first = ask(client, metadataPrefix="oai_dc", set="datasets")
    second = ask(client, resumptionToken=tokens(first)[0])
    assert texts(first, f"{OAI}identifier") == [pid_of(data[0])]
    assert texts(second, f"{OAI}identifier") == [pid_of(data[1])]
    assert tokens(second) == [""]
    today = galaxy.updated_at.date().isoformat()
    for period in ({"from": today}, {"until": f"{today}T23:59:59Z"}):
        root = ask(client, metadataPrefix="oai_dc", set="models", **period)
        assert texts(root, f"{OAI}identifier") == [pid_of(galaxy)]
    for none in ({"until": "2001-01-01"}, {"from": "9999-12-31"}, {"set": "apis"}):
        assert refused(client, metadataPrefix="oai_dc", **none) == "noRecordsMatch"


def test_requests_that_cannot_be_met_say_why(client: Client, galaxy: MLModel) -> None:
    version = pid_url(revision_get(galaxy).identifiers.get().name)
    known = {"verb": "GetRecord", "identifier": pid_of(galaxy)}
    assert refused(client, verb="Nothing") == "badVerb"
    assert refused(client, verb="GetRecord") == "badArgument"
    assert refused(client, metadataPrefix="marc21") == "cannotDisseminateFormat"
    assert refused(client, **known, metadataPrefix="marc21") == "cannotDisseminateFormat"
    for one in (version, "http://elsewhere.example.org/ark:/99999/h2", "oai:x:1"):
        asked = {"verb": "GetRecord", "identifier": one, "metadataPrefix": "oai_dc"}
        assert refused(client, **asked) == "idDoesNotExist"
    formats = ask(client, verb="ListMetadataFormats", identifier=known["identifier"])
    assert len(texts(formats, f"{OAI}metadataPrefix")) == 3


def test_an_empty_hub_answers_too(client: Client, settings: Any) -> None:
    settings.HUB_URL = "http://localhost:8000"
    settings.PUBLISHER_EMAIL = ""
    identity = ask(client, verb="Identify")
    assert texts(identity, f"{OAI}baseURL") == ["http://localhost:8000/oai"]
    assert texts(identity, f"{OAI}adminEmail") == ["postmaster@localhost.invalid"]
    assert refused(client, metadataPrefix="oai_dc") == "noRecordsMatch"
    assert refused(client, verb="ListIdentifiers", metadataPrefix="oai_dc") == "noRecordsMatch"
