"""``GET /api/v1/workloads`` and what belongs to one."""

from typing import Any

import pytest
from django.test import Client

from registry.tables import ScheduleTask, ScheduleTrial
from tests.registry import shopfloor
from tests.registry.analysis.recordedsearches import add_search

pytestmark = pytest.mark.django_db


@pytest.fixture
def task(data_dir: Any) -> ScheduleTask:
    return add_search(shopfloor.floor(), "conv-search")


def get(client: Client, address: str, status: int = 200) -> Any:
    answer = client.get(f"/api/v1/{address}")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_workloads_are_listed_with_their_best(client: Client, task: ScheduleTask) -> None:
    (row,) = get(client, "workloads?q=conv2d&sort=flops")["items"]
    assert (row["uuid"], row["operator"]) == (str(task.uuid), "conv2d_nhwc")
    assert row["trials"] == task.trials.count()
    assert row["confirmed_s"] == task.trials.get(confirmed_at__isnull=False).confirmed_s
    assert get(client, "workloads?target=riscv64")["items"] == []
    assert get(client, "workloads?sort=luck", 400)["code"] == "invalid_request"


def test_a_workload_names_the_models_that_use_it(client: Client, task: ScheduleTask) -> None:
    row = get(client, f"workloads/{task.uuid}")
    assert row["used_by"] == [{"model": "alice/squeezenet", "calls": 2}]


def test_trials_come_in_pages_with_decisions_in_words(client: Client, task: ScheduleTask) -> None:
    seen, cursor = [], ""
    while cursor is not None:
        page = get(client, f"workloads/{task.uuid}/trials?limit=25&cursor={cursor}")
        seen += page["items"]
        cursor = page["next"]
    assert [row["uuid"] for row in seen] == [
        str(uuid) for uuid in task.trials.order_by("id").values_list("uuid", flat=True)
    ]
    assert "tile of ff" in seen[0]["words"]


def test_sentinels_are_no_medians_and_damage_has_no_words(
    client: Client, task: ScheduleTask
) -> None:
    first, second = task.trials.order_by("id")[:2]
    ScheduleTrial.objects.filter(pk=first.pk).update(seconds=[1e10], median_s=1e10)
    ScheduleTrial.objects.filter(pk=second.pk).update(decisions=[[0, "damaged"]])
    rows = get(client, f"workloads/{task.uuid}/trials?limit=2")["items"]
    assert rows[0]["median_s"] is None
    assert rows[0]["seconds"] == [1e10]
    assert rows[1]["words"] == {}


def test_workloads_of_private_models_are_not_there(client: Client, data_dir: Any) -> None:
    private = shopfloor.floor("alice/secret", private=True)
    task = add_search(private, "dense-search", most=4)
    assert get(client, "workloads")["items"] == []
    for address in (f"workloads/{task.uuid}", f"workloads/{task.uuid}/trials"):
        assert get(client, address, 404)["code"] == "workload_not_found"
    client.force_login(private.alice)
    assert get(client, f"workloads/{task.uuid}")["used_by"] == [
        {"model": "alice/secret", "calls": 2}
    ]
