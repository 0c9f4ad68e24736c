"""A model's tuning log as tables, read as anybody would who follows its Croissant document."""

import csv
import io
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from registry.fair.crate.measurements import SAMPLES, TABLES, TRIALS
from registry.selectors.results import measurement
from registry.services.results.trial import trial_add
from registry.states import Visibility
from registry.tables import MLModel, Trial
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db
BLOCKS = [
    {"candidate_ns": [900, 910], "baseline_ns": [1000, 1010]},
    {"candidate_ns": [905], "baseline_ns": [1005]},
]


@pytest.fixture
def floor(monkeypatch: pytest.MonkeyPatch) -> shopfloor.Floor:
    """``alice/squeezenet`` with one search of five trials, the first with samples."""
    monkeypatch.setattr(measurement, "_BATCH", 2)
    floor = shopfloor.floor()
    floor.tune()
    ticket = floor.claim()
    for number in range(5):
        columns: dict[str, Any] = {
            "ratio": 0.9,
            "ratio_low": 0.89,
            "ratio_high": 0.91,
            "compile_s": 1.25,
        }
        if number == 0:
            columns["measurement"] = {"blocks": BLOCKS}
        if number == 4:
            columns = {"outcome": "crash", "ratio": None, "failure_detail": "secret path"}
        trial_add(
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            trial=shopfloor.trial(number, f"{number}", **columns),
        )
    return floor


def rows(client: Client, address: str) -> list[dict[str, str]]:
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer.streaming
    assert answer.headers["Content-Type"].startswith("text/csv")
    data = b"".join(answer)
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def test_every_trial_is_a_row_in_the_order_of_the_search(
    client: Client, floor: shopfloor.Floor
) -> None:
    found = rows(client, "/alice/squeezenet/measurements/trials.csv")
    assert list(found[0]) == [one.name for one in TRIALS.columns]
    assert [int(row["number"]) for row in found] == list(range(5))
    first, last = found[0], found[-1]
    assert (first["backend"], first["options"]) == ("onnxruntime", '{"threads":"0"}')
    assert (first["target"], first["outcome"]) == (shopfloor.SLUG, "measured")
    assert (float(first["ratio_low"]), float(first["compile_s"])) == (0.89, 1.25)
    assert (last["outcome"], last["ratio"]) == ("crash", "")
    assert "secret path" not in str(found)


def test_every_timed_run_is_a_row(client: Client, floor: shopfloor.Floor) -> None:
    found = rows(client, "/alice/squeezenet/measurements/samples.csv")
    assert list(found[0]) == [one.name for one in SAMPLES.columns]
    assert [int(row["latency_ns"]) for row in found] == [900, 910, 1000, 1010, 905, 1005]
    assert {row["trial"] for row in found} == {str(Trial.objects.get(number=0).uuid)}


def test_the_tables_are_where_the_croissant_document_says(
    client: Client, floor: shopfloor.Floor
) -> None:
    document = client.get("/alice/squeezenet/metadata/croissant").json()
    places = {one["@id"]: one["contentUrl"] for one in document["distribution"]}
    assert set(places) == {table.file_name for table in TABLES}
    for table in TABLES:
        address = urlsplit(places[table.file_name])
        assert rows(client, f"{address.path}?{address.query}")
    head = client.head("/alice/squeezenet/measurements/trials.csv")
    assert (head.status_code, head.content) == (200, b"")
    assert 'rel="collection"' in head.headers["Link"]


def test_a_log_is_read_by_parts_in_few_queries(
    client: Client, floor: shopfloor.Floor, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(50):
        assert len(rows(client, "/alice/squeezenet/measurements/trials.csv")) == 5


def test_who_has_a_table_already_gets_it_again_when_it_has_grown(
    client: Client, floor: shopfloor.Floor
) -> None:
    address = "/alice/squeezenet/measurements/samples.csv"
    etag = client.head(address).headers["ETag"]
    assert client.get(address).headers["ETag"] == etag
    other = client.head(address.replace("samples", "trials")).headers["ETag"]
    assert other != etag
    again = client.get(address, headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    Trial.objects.order_by("pk")[0].delete()
    assert client.get(address, headers={"If-None-Match": etag}).status_code == 200


def test_what_is_not_there_is_said_not_to_be(client: Client, floor: shopfloor.Floor) -> None:
    for tail in ("/measurements/builds.csv", "/measurements/trials.csv?revision=v9"):
        assert client.get(f"/alice/squeezenet{tail}").status_code == 404
    MLModel.objects.update(visibility=Visibility.PRIVATE)
    for table in TABLES:
        address = f"/alice/squeezenet/measurements/{table.file_name}"
        assert client.get(address).status_code == 404
        client.force_login(floor.alice)
        assert rows(client, address)
        client.logout()
