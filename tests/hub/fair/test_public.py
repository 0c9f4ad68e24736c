"""What the hub says of itself: its interfaces, its terms, its shape, its promises."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from rdflib import RDFS, Graph, URIRef

from registry.fair.linked import shape
from registry.fair.linked.context import HUB_TERMS
from registry.fair.linked.terms import TERMS
from registry.fair.linked.turtle import turtle
from registry.fair.parts import Hub
from registry.fair.score.served import links_in
from registry.selectors.fair.hub import this_hub
from registry.tables import User
from tests.hub.fair.records import make_record
from tests.validators.environments import run

pytestmark = pytest.mark.django_db

HUB = "http://127.0.0.1:8000"
_SHACL = Path(__file__).parents[2] / "validators" / "linked_data.py"
#: Where something answers only if all the hub's processes run.
_STATUS = f"{HUB}/readyz"


def get(client: Client, path: str, accept: str = "*/*") -> HttpResponse:
    answer = client.get(path, headers={"Accept": accept})
    assert isinstance(answer, HttpResponse)
    assert answer.status_code == 200, answer.content[:300]
    return answer


def test_every_interface_is_listed_and_there(client: Client) -> None:
    answer = get(client, "/.well-known/api-catalog")
    assert answer["Content-Type"] == (
        'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
    )
    catalogue, *about = json.loads(answer.content)["linkset"]
    assert catalogue["anchor"] == f"{HUB}/.well-known/api-catalog"
    own = [one["href"] for one in catalogue["item"]]
    assert f"{HUB}/oai" in own
    assert f"{HUB}/catalog" in own
    typed = [one for entry in about for one in entry.get("service-desc", [])]
    typed += [one for entry in about for one in entry.get("service-doc", [])]
    for one in [*({"href": url} for url in own), *typed]:
        if one["href"].startswith(HUB):
            accept = {"Accept": one.get("type", "*/*")}
            actual = client.get(one["href"].removeprefix(HUB), headers=accept)
            assert actual.status_code == 200
            assert actual["Content-Type"].startswith(one.get("type", ""))


def test_the_list_of_interfaces_is_found_from_its_head_and_from_the_api(client: Client) -> None:
    address = f"{HUB}/.well-known/api-catalog"
    head = client.head("/.well-known/api-catalog")
    assert head.status_code == 200
    for answer in (head, get(client, "/api/v1"), get(client, "/api/v1/")):
        links = {one.rel: one.target for one in links_in(answer["Link"], "/")}
        assert links["api-catalog"] == address
    root = get(client, "/api/v1")
    told = json.loads(root.content)
    assert told == {one.rel: one.target for one in links_in(root["Link"], "/")}
    for url in set(told.values()) - {_STATUS}:
        get(client, url.removeprefix(HUB))


def test_every_term_is_declared_for_people_and_for_machines(client: Client) -> None:
    page = get(client, "/terms", "text/html").content.decode()
    found = Graph().parse(data=get(client, "/terms", "text/turtle").content, format="turtle")
    other = get(client, "/terms", "application/ld+json")
    assert len(Graph().parse(data=other.content, format="json-ld")) == len(found)
    for term in TERMS:
        assert f'id="{term.name}"' in page
        assert (URIRef(f"{HUB_TERMS}{term.name}"), RDFS.isDefinedBy, None) in found
    assert "not registered" in page
    assert "https://hpc-fair.github.io/ontology#AIModel" in page
    assert "Accept" in other["Vary"]


@pytest.mark.parametrize(
    ("path", "document_of"),
    [("/shapes/record", shape.document), ("/shapes/core", shape.core_document)],
)
def test_shapes_are_served_as_linked_data(
    client: Client, path: str, document_of: Callable[[Hub], dict[str, Any]]
) -> None:
    document = document_of(this_hub())
    for accept in ("*/*", "text/html", "text/turtle"):
        answer = get(client, path, accept)
        assert answer["Content-Type"] == "text/turtle; charset=utf-8"
        assert answer.content == turtle(document)
    assert json.loads(get(client, path, "application/ld+json").content) == document


@pytest.mark.slow
def test_a_served_record_passes_the_served_shape(
    client: Client, charlie: User, lab: object, tmp_path: Path
) -> None:
    page = f"/{make_record(charlie).full_name}"
    (tmp_path / "shape.ttl").write_bytes(get(client, "/shapes/record").content)
    for accept, end in (("application/ld+json", "jsonld"), ("text/turtle", "ttl")):
        (tmp_path / f"record.{end}").write_bytes(get(client, page, accept).content)
    seen = json.loads(run("linked", "python", str(_SHACL), str(tmp_path)))["record"]
    assert seen["conforms"], seen["report"]
    assert seen["same"]


def test_the_policy_says_plainly_what_is_not_so(client: Client, settings: Any) -> None:
    page = get(client, "/policy").content.decode()
    assert "w3id.org/hpcfair is not registered" in page
    assert "reserved for tests" in page
    assert "No DOIs are registered" in page
    assert "24 hours after" in page
    settings.NAAN = "12345"
    settings.DATACITE_ACCOUNT = settings.DATACITE_PASSWORD = "x"
    settings.DATACITE_PREFIX = "10.5072"
    settings.PUBLISHER_EMAIL = "desk@example.org"
    page = get(client, "/policy").content.decode()
    assert "reserved for tests" not in page
    assert "(NAAN) 12345" in page
    assert "DOIs are registered at DataCite" in page
    assert "mailto:desk@example.org" in page


@pytest.mark.parametrize(
    "path",
    [
        "/policy",
        "/terms",
        "/shapes/record",
        "/shapes/core",
        "/robots.txt",
        "/.well-known/api-catalog",
    ],
)
def test_nothing_here_can_be_written(client: Client, path: str) -> None:
    assert client.head(path).status_code == 200
    assert client.post(path).status_code == 405
