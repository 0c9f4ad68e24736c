"""Builds run again: planned after searches and after changes of tools, and what came of it kept."""

from dataclasses import dataclass
from typing import Any

import pytest

from registry.errors import Conflict, Invalid, NotFound
from registry.selectors.results.build import builds_of
from registry.selectors.results.reproduction import (
    builds_of_job,
    history,
    latest_of,
    outcomes_of_job,
    reproduced,
    toolchain_of,
)
from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.services.results.reproduction import plan_after_search, plan_again, reproduction_add
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.target import target_enable
from registry.states import JobKind, JobState
from registry.tables import AuditEntry, Build, Job, Reproduction
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

TOOLS = {"python": "3.13.1", "onnxruntime": "1.31.1"}
NEWER = TOOLS | {"onnxruntime": "1.32.0"}


@dataclass(frozen=True)
class Shop:
    """A search that has published a baseline and a faster build."""

    floor: shopfloor.Floor
    search: Job
    baseline: Build
    fast: Build


@pytest.fixture
def shop() -> Shop:
    return published()


def published(name: str = "alice/squeezenet") -> Shop:
    floor = shopfloor.floor(name)
    search = floor.tune()
    ticket = floor.claim()
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    builds = []
    for threads, columns in (
        ("all", {"is_baseline": True, "ratio": 1.0, "verdict": "same"}),
        ("half", {}),
    ):
        document = shopfloor.document(floor.revision, threads, job=ticket.job_uuid)
        record = record_add(**held, document=document)
        builds.append(shopfloor.build(record.pk, threads, **columns))
    baseline, fast = builds_publish(**held, builds=builds)
    job_succeed(**held, result={"summary": "1.25x"})
    return Shop(floor, search, baseline, fast)


def claim(shop: Shop) -> dict[str, Any]:
    """The next run, planned and claimed; how it is named in writes."""
    plan_after_search(job_uuid=str(shop.search.uuid))
    ticket = job_claim(
        device_name=shop.floor.device.name, kinds=[JobKind.REPRODUCE], target=shopfloor.SLUG
    )
    assert ticket is not None
    return {"job_uuid": ticket.job_uuid, "fence": ticket.fence}


def run(shop: Shop, tools: dict[str, str] = TOOLS, outcome: str = "reproduced") -> None:
    """Both builds run again."""
    held = claim(shop)
    for build in (shop.baseline, shop.fast):
        reproduction_add(str(build.uuid), **held, tools=tools, outcome=outcome)
    job_succeed(**held, result={})


def test_after_a_search_its_builds_are_to_be_run_again_behind_other_searches(shop: Shop) -> None:
    job = plan_after_search(job_uuid=str(shop.search.uuid))
    assert job is not None
    assert (job.kind, job.target, job.revision) == (
        JobKind.REPRODUCE,
        shop.floor.target,
        shop.floor.revision,
    )
    assert job.priority > shop.search.priority
    assert plan_after_search(job_uuid=str(shop.search.uuid)) == job
    baseline, fast = builds_of_job(str(job.uuid))
    assert (baseline.uuid, baseline.is_baseline) == (str(shop.baseline.uuid), True)
    assert fast.files[0].path == fast.entry_point
    assert fast.runtime_options == {"threads": "half"}


def test_a_search_that_published_nothing_plans_nothing(shop: Shop) -> None:
    other = shopfloor.floor("alice/other")
    assert plan_after_search(job_uuid=str(other.tune().uuid)) is None


def test_what_came_of_it_is_kept_once_for_a_job(shop: Shop) -> None:
    held = claim(shop)
    given: dict[str, Any] = {"tools": TOOLS, "outcome": "differs", "detail": "a\0b"}
    first = reproduction_add(str(shop.fast.uuid), **held, deviation={"max_relative": 0.5}, **given)
    again = reproduction_add(str(shop.fast.uuid), **held, **given | {"outcome": "reproduced"})
    assert (first, first.outcome) == (again, "differs")
    assert first.toolchain == toolchain_of(TOOLS)
    assert "\0" not in first.detail
    assert outcomes_of_job(held["job_uuid"]) == {str(shop.fast.uuid): "differs"}
    assert AuditEntry.objects.filter(action="reproduction.add").count() == 1


def test_the_newest_counts(shop: Shop) -> None:
    run(shop)
    run(shop, NEWER, "failed")
    latest = latest_of([shop.baseline, shop.fast])
    assert {row.outcome for row in latest.values()} == {"failed"}
    assert [row.outcome for row in history(shop.fast)] == ["failed", "reproduced"]
    assert reproduced(latest[shop.fast.pk]) is False
    assert reproduced(history(shop.fast)[1]) is True
    assert reproduced(None) is None


def test_of_many_builds_the_newest_are_read_at_once(
    shop: Shop, django_assert_num_queries: Any
) -> None:
    run(shop)
    builds = list(builds_of(shop.floor.revision))
    with django_assert_num_queries(1):
        assert len(latest_of(builds)) == 2


def test_who_lost_the_lease_keeps_nothing(shop: Shop) -> None:
    held = claim(shop)
    late = held | {"fence": held["fence"] + 1}
    with pytest.raises(Conflict):
        reproduction_add(str(shop.fast.uuid), **late, tools=TOOLS, outcome="reproduced")
    assert not Reproduction.objects.exists()


def test_a_job_is_about_its_own_networks_builds_alone(shop: Shop) -> None:
    other = published("alice/other")
    held = claim(shop)
    for uuid in (str(other.fast.uuid), "nonsense"):
        with pytest.raises(NotFound) as refusal:
            reproduction_add(uuid, **held, tools=TOOLS, outcome="reproduced")
        assert refusal.value.code == "build_not_found"


def test_an_outcome_that_is_none_is_refused(shop: Shop) -> None:
    with pytest.raises(Invalid, match="outcome of a reproduction is invalid"):
        reproduction_add(str(shop.fast.uuid), **claim(shop), tools=TOOLS, outcome="splendid")


def again(shop: Shop, tools: dict[str, dict[str, str]]) -> list[JobState]:
    """Jobs planned for a device that has these tools now."""
    return [JobState(job.state) for job in plan_again(target=shop.floor.target, tools=tools)]


def test_builds_are_to_be_run_again_when_the_tools_have_changed(shop: Shop) -> None:
    # Never run is as good as run by others.
    assert again(shop, {"onnxruntime": TOOLS}) == [JobState.QUEUED]
    run(shop)
    assert again(shop, {"onnxruntime": TOOLS}) == []
    assert again(shop, {"onnxruntime": NEWER}) == [JobState.QUEUED]


def test_builds_that_nobody_there_can_run_are_left_alone(shop: Shop) -> None:
    assert again(shop, {"openvino": TOOLS}) == []
    assert again(shop, {}) == []


def test_withdrawn_builds_and_targets_that_are_off_are_left_alone(shop: Shop) -> None:
    target_enable(actor=None, slug=shopfloor.SLUG, enabled=False)
    shop.floor.target.refresh_from_db()
    assert again(shop, {"onnxruntime": TOOLS}) == []
    target_enable(actor=None, slug=shopfloor.SLUG, enabled=True)
    shop.floor.target.refresh_from_db()
    Build.objects.update(withdrawn_at="2026-01-01T00:00:00Z")
    assert again(shop, {"onnxruntime": TOOLS}) == []


def test_a_run_is_of_the_builds_that_are_not_withdrawn(shop: Shop) -> None:
    Build.objects.filter(pk=shop.fast.pk).update(withdrawn_at="2026-01-01T00:00:00Z")
    (only,) = builds_of_job(claim(shop)["job_uuid"])
    assert only.uuid == str(shop.baseline.uuid)
