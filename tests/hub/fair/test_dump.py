"""All public records in one file, as those who preserve them elsewhere read it."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import StreamingHttpResponse
from django.test import Client
from rdflib import DCAT, DCTERMS, Graph, URIRef
from rdflib.compare import isomorphic

from hub.fair import dump
from registry.fair.parts import METADATA_LICENSE
from registry.fair.score.served import links_in
from registry.selectors.fair import dump as records
from registry.services.people.person import person_update
from registry.services.repository.mlmodel import mlmodel_delete
from registry.tables import MLModel, User
from tests.factories import commit_files, make_mlmodel, readme
from tests.hub.fair.records import make_data_record, make_record

pytestmark = pytest.mark.django_db

ADDRESS = "/catalog/records.jsonl.gz"
HUB = "http://127.0.0.1:8000"


def fetch(client: Client) -> StreamingHttpResponse:
    answer = client.get(ADDRESS)
    assert isinstance(answer, StreamingHttpResponse)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/gzip"
    return answer


def header(client: Client, name: str) -> str:
    """A header of the answer, which is read to its end: open answers are limited."""
    answer = fetch(client)
    b"".join(answer)
    return answer[name]


def pieces(answer: StreamingHttpResponse) -> Iterator[bytes]:
    return iter(answer)  # type: ignore[arg-type]


def lines(client: Client) -> list[bytes]:
    return gzip.decompress(b"".join(pieces(fetch(client)))).splitlines()


def same(line: bytes, record: dict[str, Any]) -> bool:
    left, right = Graph(), Graph()
    left.parse(data=line, format="json-ld")
    right.parse(data=json.dumps(record), format="json-ld")
    return isomorphic(left, right)


def test_the_file_has_every_public_record_as_it_is_served_alone(
    client: Client, charlie: User, lab: object, secret: MLModel
) -> None:
    make_record(charlie)
    make_data_record(charlie)
    odd = readme("# Odd\n", model_name="Line\u2028separators\u2029and emoji \U0001f30c")
    make_mlmodel("lab/odd", actor=charlie, files={"README.md": odd})
    gone = make_mlmodel("lab/gone", actor=charlie)
    mlmodel_delete(actor=charlie, mlmodel=gone, reason="Wrong.")
    client.force_login(charlie)

    actual = lines(client)

    names = ["lab/galaxy-net", "datasets/lab/galaxies", "lab/odd", "lab/gone"]
    served = [client.get(f"/{name}/metadata/jsonld").json() for name in names]
    assert [json.loads(line) for line in actual] == served
    assert [one["creativeWorkStatus"] for one in served] == [*["Published"] * 3, "Withdrawn"]
    assert all(same(line, record) for line, record in zip(actual, served, strict=True))
    assert b"secret" not in b"".join(actual)


def test_records_are_read_and_sent_in_batches(
    client: Client, charlie: User, lab: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump, "AT_ONCE", 2)
    for number in range(5):
        make_mlmodel(f"lab/m{number}", actor=charlie)
    sizes: list[int] = []
    describe = records.describe_many
    monkeypatch.setattr(
        records, "describe_many", lambda rows: sizes.append(len(rows)) or describe(rows)
    )
    stream = pieces(fetch(client))
    assert sizes == []
    begin = next(stream)
    assert sizes == [2]
    whole = gzip.decompress(begin + b"".join(stream)).splitlines()
    assert sizes == [2, 2, 1]
    assert len({json.loads(line)["@id"] for line in whole}) == 5


def test_who_has_the_file_gets_it_again_only_after_a_change(
    client: Client, charlie: User, galaxy: MLModel
) -> None:
    other = make_mlmodel("lab/other", actor=charlie)
    tag = header(client, "ETag")
    assert header(client, "Last-Modified")
    head = client.head(ADDRESS)
    assert (head["ETag"], head.content) == (tag, b"")

    def unchanged() -> bool:
        answer = client.get(ADDRESS, headers={"If-None-Match": tag})
        b"".join(answer)
        return answer.status_code == 304

    assert unchanged()
    for change in (
        lambda: commit_files(galaxy, {"notes.txt": "new"}, actor=charlie),
        lambda: person_update(actor=charlie, full_name="Charlie Changed"),
        lambda: mlmodel_delete(actor=charlie, mlmodel=other),
    ):
        change()
        assert not unchanged()
        tag = header(client, "ETag")
        assert unchanged()


def test_the_catalogue_announces_the_file_with_its_licence(client: Client, galaxy: MLModel) -> None:
    catalogue = client.get("/catalog", headers={"Accept": "text/turtle"})
    graph = Graph().parse(data=catalogue.content, format="turtle")
    (node,) = graph.objects(URIRef(f"{HUB}/catalog"), DCAT.distribution)
    assert graph.value(node, DCAT.downloadURL) == URIRef(f"{HUB}{ADDRESS}")
    assert graph.value(node, DCTERMS.license) == URIRef(METADATA_LICENSE)
    links = {one.rel: one.target for one in links_in(fetch(client)["Link"], ADDRESS)}
    assert links["license"] == METADATA_LICENSE
    for page in ("/policy", "/catalog"):
        assert ADDRESS in client.get(page).content.decode()
    assert ADDRESS in client.get("/.well-known/api-catalog").content.decode()


def test_an_empty_hub_has_an_empty_file(client: Client) -> None:
    assert lines(client) == []
