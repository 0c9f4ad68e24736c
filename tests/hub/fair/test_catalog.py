"""The catalogue of the hub: as a page, and as DCAT to whoever asks for linked data."""

import json

import pytest
from django.http import HttpResponse
from django.test import Client
from rdflib import DCAT, DCTERMS, RDF, Graph, Literal, Namespace, URIRef
from rdflib.compare import isomorphic

from hub.fair import catalog
from registry.fair.score.served import links_in
from registry.selectors.fair import catalog as records
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_update
from registry.states import Gate
from registry.tables import MLModel, User
from tests.factories import make_mlmodel
from tests.hub.fair.records import make_data_record, make_record

pytestmark = pytest.mark.django_db

HUB = "http://127.0.0.1:8000"
HYDRA = Namespace("http://www.w3.org/ns/hydra/core#")
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


def get(client: Client, query: str = "", accept: str = "text/turtle") -> HttpResponse:
    answer = client.get(f"/catalog{query}", headers={"Accept": accept})
    assert isinstance(answer, HttpResponse)
    assert answer.status_code == 200, answer.content[:300]
    assert "Accept" in answer["Vary"]
    return answer


def graph(client: Client, query: str = "") -> Graph:
    return Graph().parse(data=get(client, query).content, format="turtle")


def listed(found: Graph) -> set[str]:
    pages = found.objects(URIRef(f"{HUB}/catalog"), DCAT.dataset)
    return {str(found.value(one, DCAT.landingPage)) for one in pages}


def landing(mlmodel: MLModel, path: str) -> str:
    return f"{HUB}/{path}?revision={revision_get(mlmodel).oid}"


def test_all_that_is_public_is_listed_with_its_files_and_nothing_else(
    client: Client, secret: MLModel, charlie: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Pages are bounded by keys: with 50 on a page, some keys would put the two on different pages.
    monkeypatch.setattr(catalog, "AT_ONCE", 1_000_000)
    record, data = make_record(charlie), make_data_record(charlie)
    gone = make_mlmodel("lab/gone", actor=charlie)
    mlmodel_delete(actor=charlie, mlmodel=gone)
    mlmodel_update(actor=charlie, mlmodel=data, gate=Gate.MANUAL)
    client.force_login(charlie)

    found = graph(client)

    assert listed(found) == {
        landing(record, "lab/galaxy-net"),
        landing(data, "datasets/lab/galaxies"),
    }
    node = found.value(None, DCTERMS.title, Literal("Galaxy CNN: morphology"))
    assert node is not None
    files = [found.value(one, DCTERMS.title) for one in found.objects(node, DCAT.distribution)]
    assert Literal("model.onnx") in files
    assert found.value(node, DCTERMS.license) == URIRef("https://spdx.org/licenses/Apache-2.0")
    assert (URIRef(f"{HUB}/catalog"), RDF.type, DCAT.Catalog) in found
    assert "secret" not in get(client).content.decode()


def test_both_forms_of_linked_data_say_the_same(client: Client, charlie: User, lab: object) -> None:
    make_record(charlie)
    jsonld = get(client, accept="application/ld+json")
    assert jsonld["Content-Type"] == "application/ld+json"
    assert isinstance(json.loads(jsonld.content)["@context"], dict)
    other = Graph().parse(data=jsonld.content, format="json-ld")
    assert isomorphic(graph(client), other)


def test_nobody_is_refused_for_what_they_accept(client: Client, galaxy: MLModel) -> None:
    for accept, served in (
        ("*/*", "text/html"),
        (BROWSER, "text/html"),
        ("text/turtle", "text/turtle"),
        ("text/turtle;q=0.5, application/ld+json", "application/ld+json"),
        ("application/rdf+xml, text/turtle;q=0.9, */*;q=0.1", "text/turtle"),
        ("application/rdf+xml", "text/html"),
        ("nonsense", "text/html"),
        (",;q=x", "text/html"),
        ("", "text/html"),
    ):
        answer = get(client, accept=accept)
        assert answer["Content-Type"].partition(";")[0] == served, accept


def test_pages_lead_to_each_other_in_all_forms(
    client: Client, charlie: User, lab: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "AT_ONCE", 2)
    models = [make_mlmodel(f"lab/m{number}", actor=charlie) for number in range(7)]
    pages: dict[int, list[MLModel]] = {}
    for one in models:
        pages.setdefault((one.pk - 1) // 2 + 1, []).append(one)
    actual = {number: listed(graph(client, f"?page={number}")) for number in pages}
    assert actual == {
        number: {landing(one, one.full_name) for one in some} for number, some in pages.items()
    }
    first, *_, last = pages
    # Nothing is left of one page; others keep their numbers.
    gap = first + 1
    for one in pages.pop(gap):
        mlmodel_update(actor=charlie, mlmodel=one, visibility="private")
    assert listed(graph(client, f"?page={gap}")) == set()
    assert "were withdrawn" in get(client, f"?page={gap}", "text/html").content.decode()
    assert listed(graph(client)) == actual[first], "by default the first page that is not empty"
    links = links_in(get(client, f"?page={first}")["Link"], "/catalog")
    assert {(one.rel, one.target) for one in links if one.rel != "alternate"} == {
        ("first", f"{HUB}/catalog?page={first}"),
        ("next", f"{HUB}/catalog?page={first + 2}"),
        ("last", f"{HUB}/catalog?page={last}"),
    }
    links = links_in(get(client, f"?page={first + 2}")["Link"], "/catalog")
    assert ("prev", f"{HUB}/catalog?page={first}") in {(one.rel, one.target) for one in links}
    assert {one.type for one in links if one.rel == "alternate"} == {
        "text/turtle",
        "application/ld+json",
    }
    page = get(client, f"?page={first}", "text/html").content.decode()
    assert models[0].full_name in page
    assert models[-1].full_name not in page
    assert f'href="{HUB}/catalog?page={first + 2}" rel="next"' in page


def test_a_large_catalogue_is_not_counted(
    client: Client, charlie: User, lab: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MAX_COUNT", 2)
    monkeypatch.setattr(catalog, "MAX_COUNT", 2)
    models = [make_mlmodel(f"lab/m{number}", actor=charlie) for number in range(3)]
    total = (URIRef(f"{HUB}/catalog"), HYDRA.totalItems)
    assert graph(client).value(*total) is None
    assert "more than 2 in all" in get(client, accept="text/html").content.decode()
    mlmodel_delete(actor=charlie, mlmodel=models[0])
    assert graph(client).value(*total) == Literal(2)


def test_an_empty_hub_has_an_empty_catalogue(client: Client) -> None:
    assert "Nothing is published yet" in get(client, accept="text/html").content.decode()
    assert listed(graph(client)) == set()


def test_pages_that_are_not_there_are_not_found(client: Client, galaxy: MLModel) -> None:
    behind = str((galaxy.pk - 1) // catalog.AT_ONCE + 2)
    for page in ("0", behind, "-1", "x", "", "1.0", "999999999", "9" * 30, "٣"):
        answer = client.get("/catalog", {"page": page})
        assert answer.status_code == 404, page
        assert "The first page is /catalog" in answer.content.decode(), page


def test_who_has_a_page_already_is_not_sent_it_again(client: Client, galaxy: MLModel) -> None:
    first = get(client)
    headers = {"Accept": "text/turtle", "If-None-Match": first["ETag"]}
    again = client.get("/catalog", headers=headers)
    assert (again.status_code, again.content) == (304, b"")
    assert first["Access-Control-Allow-Origin"] == "*"
    assert client.post("/catalog").status_code == 405
