"""The hub's memory of operator workloads and schedules."""

from typing import Any

import pytest

from hpcfair.tickets import JobTicket
from registry.errors import Conflict, Invalid
from registry.selectors.results.schedule import (
    is_scheduled,
    schedule_trials,
    schedule_trials_of_job,
    schedules_best,
    schedules_similar,
)
from registry.selectors.storage.blob import blobs_unreferenced
from registry.services.results.schedule import (
    BACKGROUND_PRIORITY,
    plan_schedules,
    schedule_confirm,
    schedule_task_add,
    schedule_trial_add,
)
from registry.services.work.attempt import job_succeed
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import Blob, Graph, Job, ScheduleSketch, ScheduleTask, ScheduleTrial
from tests.registry import shopfloor
from tests.registry.shopfloor import SLUG

pytestmark = pytest.mark.django_db

TOOLCHAIN = "apache-tvm 0.27.0.post1"
KEY, OTHER = "1" * 64, "2" * 64


@pytest.fixture
def ticket() -> JobTicket:
    floor = shopfloor.floor()
    floor.tune()
    return floor.claim()


def add_task(ticket: JobTicket, key: str = KEY, **columns: Any) -> ScheduleTask:
    task = {
        "key": key,
        "toolchain": TOOLCHAIN,
        "name": "conv2d1",
        "anchor": "conv2d_nchw",
        "arguments": [{"dtype": "float32", "shape": [1, 64, 56, 56]}],
        "flops": 2.3e8,
        "features": [19.2, 12.2],
    }
    return schedule_task_add(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        task=task | columns,
        source=b"loops of " + key.encode(),
        calls=3,
    )


def trial(number: int = 0, key: str = KEY, **columns: Any) -> dict[str, Any]:
    return {
        "key": key,
        "toolchain": TOOLCHAIN,
        "number": number,
        "sketch": [["SamplePerfectTile", ["l4"], [4, 64], ["v5"]]],
        "decisions": [[0, [1, 2, number, 4]]],
        "digest": f"{number:064x}",
        "proposed_by": "evolution",
        "predicted": 0.5,
        "outcome": "measured",
        "failure_detail": "",
        "seconds": [0.003, 0.001, 0.002],
        "duration_s": 0.3,
    } | columns


def add(ticket: JobTicket, *about: Any, **columns: Any) -> ScheduleTrial:
    return schedule_trial_add(
        job_uuid=ticket.job_uuid, fence=ticket.fence, trial=trial(*about, **columns)
    )


def confirm(ticket: JobTicket, number: int, seconds: float, key: str = KEY) -> ScheduleTrial:
    return schedule_confirm(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        key=key,
        toolchain=TOOLCHAIN,
        digest=f"{number:064x}",
        seconds=[seconds] * 3,
        trace=[["insts", number], []],
    )


def another_job() -> JobTicket:
    floor = shopfloor.floor(f"alice/net{Job.objects.count()}")
    floor.tune()
    return floor.claim()


def test_names_of_loops_are_added_to_workloads_of_earlier_versions(ticket: JobTicket) -> None:
    assert add_task(ticket).blocks == []
    blocks = [{"name": "conv", "axes": [], "consumers": []}]
    described = {"blocks": blocks, "structural_hash": "17", "compiler_target": {"kind": "llvm"}}
    add_task(ticket, **described)
    task = ScheduleTask.objects.get()
    assert (task.blocks, task.structural_hash) == (blocks, "17")
    # What is stored stays.
    add_task(ticket, **described | {"structural_hash": "18"})
    task.refresh_from_db()
    assert task.structural_hash == "17"


def test_networks_that_share_a_workload_share_its_row(ticket: JobTicket) -> None:
    first = add_task(ticket)
    assert add_task(another_job()) == first
    assert [use.calls for use in first.uses.all()] == [3]
    assert ScheduleTask.objects.count() == 1


def test_the_source_of_a_workload_is_never_collected(ticket: JobTicket) -> None:
    task = add_task(ticket)
    assert Blob.objects.filter(pk=task.source_id).exists()
    assert not blobs_unreferenced().filter(pk=task.source_id).exists()


def test_a_trial_comes_back_as_it_was_added(ticket: JobTicket) -> None:
    add_task(ticket)
    row = add(ticket)
    assert row.median_s == 0.002
    (found,) = schedule_trials(SLUG, TOOLCHAIN, KEY)
    wanted = trial()
    assert {name: found[name] for name in wanted if name != "toolchain"} == {
        name: value for name, value in wanted.items() if name != "toolchain"
    }
    assert [t["number"] for t in schedule_trials_of_job(ticket.job_uuid)] == [0]


def test_many_trials_share_a_sketch(ticket: JobTicket) -> None:
    add_task(ticket)
    for number in range(3):
        add(ticket, number)
    assert ScheduleSketch.objects.count() == 1


def test_adding_a_trial_twice_is_adding_it_once(ticket: JobTicket) -> None:
    add_task(ticket)
    assert add(ticket) == add(ticket, seconds=[9.0])
    with pytest.raises(Invalid, match="another schedule"):
        add(ticket, digest="f" * 64)


def test_a_lost_lease_keeps_everything_out(ticket: JobTicket) -> None:
    add_task(ticket)
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "done"})
    with pytest.raises(Conflict):
        add(ticket)
    with pytest.raises(Conflict):
        add_task(ticket, OTHER)
    with pytest.raises(Conflict):
        confirm(ticket, 0, 0.1)
    assert not ScheduleTrial.objects.exists()


@pytest.mark.parametrize(
    "columns",
    [
        {"outcome": "splendid"},
        {"colour": "blue"},
        {"seconds": [float("inf")]},
        {"key": "9" * 64},
        {"failure_detail": "nul \0", "digest": "\0"},
    ],
)
def test_what_is_no_trial_is_refused(ticket: JobTicket, columns: dict[str, Any]) -> None:
    add_task(ticket)
    with pytest.raises(Invalid):
        add(ticket, **columns)


def test_what_a_crash_printed_is_kept_as_far_as_it_can_be(ticket: JobTicket) -> None:
    add_task(ticket)
    row = add(ticket, outcome="crash", seconds=[], failure_detail="stack \0 smashed")
    assert row.failure_detail == "stack \N{REPLACEMENT CHARACTER} smashed"
    assert row.median_s is None


def test_the_newest_confirmation_is_the_best_schedule(ticket: JobTicket) -> None:
    add_task(ticket)
    for number in range(3):
        add(ticket, number)
    confirm(ticket, 1, 0.0011)
    confirm(ticket, 2, 0.0010)
    (best,) = schedules_best(SLUG, TOOLCHAIN, "a" * 64)
    assert best == {"key": KEY, "trace": [["insts", 2], []], "seconds": 0.0010}
    # Measured again, side by side, the first proves faster.
    confirm(ticket, 1, 0.0009)
    assert schedules_best(SLUG, TOOLCHAIN, "a" * 64)[0]["trace"] == [["insts", 1], []]


def test_only_what_was_measured_can_be_confirmed(ticket: JobTicket) -> None:
    add_task(ticket)
    add(ticket, 0, outcome="timeout", seconds=[])
    with pytest.raises(Invalid, match="has no measurement"):
        confirm(ticket, 0, 0.1)


def test_a_network_gets_the_schedules_of_its_own_workloads(ticket: JobTicket) -> None:
    add_task(ticket)
    add(ticket)
    confirm(ticket, 0, 0.001)
    assert schedules_best(SLUG, "apache-tvm 0.28", "a" * 64) == []
    assert schedules_best("arm64-neoverse-n1", TOOLCHAIN, "a" * 64) == []
    # Of a network nobody took apart, any workload may be part.
    assert [best["key"] for best in schedules_best(SLUG, TOOLCHAIN, "b" * 64)] == [KEY]
    elsewhere = another_job()
    Graph.objects.filter(revision__oid=elsewhere.revision_oid).update(graph_hash="c" * 64)
    add_task(elsewhere, OTHER)
    assert schedules_best(SLUG, TOOLCHAIN, "c" * 64) == []


def test_similar_workloads_are_of_the_same_anchor_nearest_first(ticket: JobTicket) -> None:
    add_task(ticket)
    for number, (key, anchor, features) in enumerate(
        [
            ("3" * 64, "conv2d_nchw", [30.0, 12.2]),
            ("4" * 64, "conv2d_nchw", [19.0, 12.2]),
            ("5" * 64, "matmul", [19.2, 12.2]),
            ("6" * 64, "conv2d_nchw", [19.2]),
        ]
    ):
        add_task(ticket, key, anchor=anchor, features=features)
        add(ticket, 2 * number, key)
        add(ticket, 2 * number + 1, key, outcome="crash", seconds=[])
    found = schedules_similar(SLUG, TOOLCHAIN, KEY)
    assert [other["key"][0] for other in found] == ["4", "3"]
    assert found[0]["source"] == b"loops of " + b"4" * 64
    assert [t["outcome"] for t in found[0]["trials"]] == ["measured", "crash"]
    assert schedules_similar(SLUG, TOOLCHAIN, "9" * 64) == []


def test_schedules_of_a_network_are_searched_once_behind_everything_else(
    ticket: JobTicket,
) -> None:
    job = plan_schedules(job_uuid=ticket.job_uuid)
    assert job is not None
    assert (job.kind, job.priority) == (JobKind.SCHEDULE, BACKGROUND_PRIORITY)
    assert job.target is not None
    assert is_scheduled(job.target, "a" * 64)
    assert plan_schedules(job_uuid=ticket.job_uuid) is None


def test_a_search_of_schedules_takes_a_budget_of_its_own_size(settings: Any) -> None:
    settings.SCHEDULE_S = 600
    floor = shopfloor.floor()
    asked = {"kind": JobKind.SCHEDULE, "revision": floor.revision, "target": floor.target}
    job_submit(actor=None, **asked, parameters={"budget_s": 1200})
    Job.objects.all().delete()
    with pytest.raises(Invalid):
        job_submit(actor=None, **asked, parameters={"budget_s": 1201})
