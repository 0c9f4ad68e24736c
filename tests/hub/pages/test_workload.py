"""Pages of operator workloads: what they answer without a script, also of thin data."""

import csv
import json
from typing import Any

import pytest
from django.test import Client

from registry.tables import Job, ScheduleTask
from tests.registry import shopfloor
from tests.registry.analysis.recordedsearches import add_search, add_trials, add_workload, planted
from tests.registry.shopfloor import Floor
from tests.registry.traces.recorded import recorded

pytestmark = pytest.mark.django_db

RANDOM = recorded("conv-random")


@pytest.fixture
def floor(data_dir: Any) -> Floor:
    return shopfloor.floor()


def filled(floor: Floor, trials: list[dict[str, Any]]) -> ScheduleTask:
    task = add_workload(floor, RANDOM)
    add_trials(task, RANDOM.sketches, trials, Job.objects.latest("pk"))
    return task


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return " ".join(answer.content.decode().split())


def test_the_page_answers_the_questions_without_a_script(client: Client, floor: Floor) -> None:
    task = filled(floor, planted())
    page = text_of(client, f"/workloads/{task.uuid}")
    assert "inner width of ff 16: " in page
    assert "of the fastest 10 % against" in page
    assert "(q &lt; 0.001, n = 400)" in page
    assert "no gain in the last 394 trials" in page
    assert "Rank correlation of predicted and measured" in page
    assert "No trial failed." in page
    assert "equal within noise" in page
    assert "tile of ff [" in page


def test_the_share_and_the_trials_that_are_compared_are_in_the_address(
    client: Client, floor: Floor
) -> None:
    trials = planted(100)
    for trial in trials[50:]:
        trial["proposed_by"] = "evolution"
    task = filled(floor, trials)
    page = text_of(client, f"/workloads/{task.uuid}?top=20&among=random&x=time")
    assert "50 trials, of which 10 are fast" in page
    assert "among=random&amp;x=time" in page
    assert "time of building and measuring" in page


def test_failures_are_counted_with_their_texts(client: Client, floor: Floor) -> None:
    trials = planted(30)
    for at, detail in ((1, "no such block"), (2, "no such block"), (3, "<b>killed</b>")):
        trials[at] |= {"outcome": "crash", "seconds": [], "failure_detail": detail}
    trials[4]["seconds"] = [1e10]
    page = text_of(client, f"/workloads/{filled(floor, trials).uuid}")
    assert "crash: 3 of 30" in page
    assert "no valid time: 1 of 30" in page
    assert "&lt;b&gt;killed" in page
    assert "10000000000" not in page


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "No trials yet"),
        (1, "too few trials to say"),
        (14, "not enough evidence (n = 14)"),
    ],
)
def test_thin_data_is_said(client: Client, floor: Floor, count: int, words: str) -> None:
    trials = planted(count)
    for trial in trials:
        trial |= {"seconds": [1e-3] * 5, "predicted": None}
    page = text_of(client, f"/workloads/{filled(floor, trials).uuid}")
    assert words in page
    assert "No predictions" in page


def test_a_search_of_failures_only_has_no_best(client: Client, floor: Floor) -> None:
    trials = [
        one | {"seconds": [], "outcome": "invalid", "failure_detail": "no"} for one in planted(9)
    ]
    page = text_of(client, f"/workloads/{filled(floor, trials).uuid}")
    assert "no trial has a time" in page
    assert "invalid: 9 of 9" in page


def test_damaged_decisions_are_counted_not_drawn(client: Client, floor: Floor) -> None:
    trials = planted(20)
    trials[7]["decisions"] = [[0, "damaged"]]
    page = text_of(client, f"/workloads/{filled(floor, trials).uuid}")
    assert "1 unreadable" in page


def test_the_list_is_searched_by_operator_and_target(client: Client, floor: Floor) -> None:
    conv = add_search(floor, "conv-search", most=8)
    dense = add_search(shopfloor.floor("alice/other"), "dense-search", key="d" * 64, most=8)
    page = text_of(client, "/workloads?q=matmul")
    assert str(dense.uuid) in page
    assert str(conv.uuid) not in page
    assert "No workload matches" in text_of(client, "/workloads?target=riscv64")
    for sort in ("newest", "flops", "name"):
        assert str(conv.uuid) in text_of(client, f"/workloads?sort={sort}")
    assert client.get("/workloads?sort=luck").status_code == 400


def test_workloads_of_private_models_are_not_there(client: Client, data_dir: Any) -> None:
    private = shopfloor.floor("alice/secret", private=True)
    task = add_search(private, "dense-search", most=8)
    assert client.get(f"/workloads/{task.uuid}").status_code == 404
    assert client.get(f"/workloads/{task.uuid}?format=json").status_code == 404
    assert str(task.uuid) not in text_of(client, "/workloads")
    client.force_login(private.alice)
    assert "alice/secret" in text_of(client, f"/workloads/{task.uuid}")


def test_exports_have_every_trial_with_where_it_is_from(client: Client, floor: Floor) -> None:
    task = filled(floor, planted(60))
    address = f"/workloads/{task.uuid}"
    answer = client.get(f"{address}?format=json")
    document = json.loads(answer.content)
    assert document["permalink"].endswith(address)
    assert document["environment"]["target"] == floor.target.slug
    assert len(document["trials"]) == 60
    assert document["trials"][5]["decisions"] == RANDOM.trials[5]["decisions"]
    lines = client.get(f"{address}?format=csv").content.decode().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert len(rows) == 60
    assert rows[5]["tile of ff"] == document["trials"][5]["values"]["tile:conv2d_nhwc:3:4"]
    assert lines[0] == f"# permalink: {document['permalink']}"
    seen = {"if-none-match": answer.headers["ETag"]}
    assert client.get(f"{address}?format=json", headers=seen).status_code == 304
    assert client.get(f"{address}?format=xml").status_code == 400


def test_columns_hold_the_timed_trials_for_the_views(client: Client, floor: Floor) -> None:
    trials = planted(50)
    trials[3]["seconds"] = [1e10]
    trials[4]["decisions"] = [[0, "damaged"]]
    task = filled(floor, trials)
    answer = client.get(f"/workloads/{task.uuid}/columns")
    document = answer.json()
    assert document["positions"] == [at for at in range(50) if at not in {3, 4}]
    assert len(document["times"]) == len(document["points"]) == 48
    assert max(document["times"]) < 1
    for axis in document["axes"]:
        assert len(axis["codes"]) == 48
        assert max(axis["codes"]) < len(axis["labels"])
    assert document["lines"] == 1500
    seen = {"if-none-match": answer.headers["ETag"]}
    assert client.get(f"/workloads/{task.uuid}/columns", headers=seen).status_code == 304
    add_trials(task, RANDOM.sketches, planted(1), Job.objects.latest("pk"))
    assert client.get(f"/workloads/{task.uuid}/columns", headers=seen).status_code == 200


def test_columns_of_private_models_are_not_there(client: Client, data_dir: Any) -> None:
    task = add_search(shopfloor.floor("alice/secret", private=True), "dense-search", most=8)
    assert client.get(f"/workloads/{task.uuid}/columns").status_code == 404
