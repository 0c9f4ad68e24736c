"""The page of a search of configurations."""

import csv
import json

import pytest
from django.test import Client

from tests.hub.pages.conftest import Tuned
from tests.registry import shopfloor
from tests.registry.analysis.recordedsearches import add_search

pytestmark = pytest.mark.django_db


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_the_page_says_what_the_trials_say(client: Client, tuned: Tuned) -> None:
    address = f"/jobs/{tuned.job.uuid}/search"
    assert address in text_of(client, f"/jobs/{tuned.job.uuid}")
    page = text_of(client, address)
    assert "Best of class exact" in page
    assert "0.800" in page
    assert "too few trials to say" in page
    assert "not enough evidence (n = 2)" in page
    assert "crash: 1 of 3" in page
    assert "it fell over" in page
    assert "0 equal, 0 undecided" in page
    assert "time of building and measuring" in text_of(client, f"{address}?x=time")


def test_a_search_that_runs_is_called_running(client: Client) -> None:
    floor = shopfloor.floor()
    job = floor.tune()
    floor.claim()
    head = text_of(client, f"/jobs/{job.uuid}/search").partition("<h1>")[0]
    assert "running" in head
    assert "leased" not in head


def test_a_job_without_trials_says_so(client: Client, tuned: Tuned) -> None:
    assert "This job has no trials" in text_of(client, f"/jobs/{tuned.inspection.uuid}/search")


def test_a_search_for_schedules_lists_its_workloads(client: Client, data_dir: object) -> None:
    floor = shopfloor.floor()
    task = add_search(floor, "dense-search", most=8)
    trial = task.trials.earliest("id")
    assert trial.job is not None
    assert f"/workloads/{task.uuid}" in text_of(client, f"/jobs/{trial.job.uuid}/search")


def test_searches_of_private_models_are_not_there(client: Client, data_dir: object) -> None:
    private = shopfloor.floor("alice/secret", private=True)
    job = private.tune()
    assert client.get(f"/jobs/{job.uuid}/search").status_code == 404
    assert client.get(f"/jobs/{job.uuid}/search?format=json").status_code == 404
    client.force_login(private.alice)
    assert client.get(f"/jobs/{job.uuid}/search").status_code == 200


def test_the_trials_are_data_at_the_same_address(client: Client, tuned: Tuned) -> None:
    address = f"/jobs/{tuned.job.uuid}/search"
    document = json.loads(client.get(f"{address}?format=json").content)
    assert document["permalink"].endswith(address)
    assert [trial["ratio"] for trial in document["trials"]] == [1.0, 0.8, None]
    lines = client.get(f"{address}?format=csv").content.decode().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert [row["outcome"] for row in rows] == ["measured", "measured", "crash"]
    assert client.get(f"{address}?format=xml").status_code == 400
