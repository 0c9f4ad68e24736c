"""Classes in which the newest search of a target decided nothing."""

from dataclasses import replace
from typing import Any

import pytest

from hpcfair.choice import LoadRequest
from registry.selectors.results.best import best_build
from registry.selectors.results.inconclusive import (
    all_inconclusive,
    inconclusive_candidates,
    inconclusive_classes,
)
from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.services.work.attempt import job_succeed
from registry.services.work.plan import plan_repetition
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


def candidate(tolerance: str = "exact", threads: str = "half") -> dict[str, Any]:
    """An inconclusive candidate, as a job's result names it."""
    return {
        "config_sha256": "c" * 64,
        "candidate": shopfloor.candidate(threads),
        "tolerance": tolerance,
        "ratio": 0.9,
        "ratio_low": 0.7,
        "ratio_high": 1.2,
    }


def searched(floor: Floor, *inconclusive: dict[str, Any]) -> str:
    """A search of the floor's network that has ended; its job."""
    floor.tune()
    ticket = floor.claim()
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    job_succeed(**held, result={"inconclusive": list(inconclusive)})
    return ticket.job_uuid


def test_the_newest_search_of_a_target_counts() -> None:
    floor, other = shopfloor.floor(), shopfloor.floor("bob/other")
    assert inconclusive_classes(floor.revision) == {}
    searched(floor, candidate(), candidate("int8"))
    searched(other, candidate("fp16"))
    assert inconclusive_classes(floor.revision) == {shopfloor.SLUG: frozenset({"exact", "int8"})}
    assert all_inconclusive([floor.revision.pk, other.revision.pk]).keys() == {
        floor.revision.pk,
        other.revision.pk,
    }
    searched(floor)
    assert inconclusive_classes(floor.revision) == {}


def test_a_job_repeats_what_the_newest_search_left_open() -> None:
    floor = shopfloor.floor()
    searched(floor, candidate(threads="all"))
    searched(floor, candidate(threads="half"))
    job = floor.tune()
    (found,) = inconclusive_candidates(str(job.uuid))
    assert found["candidate"] == shopfloor.candidate("half")


def with_default(floor: Floor, *inconclusive: dict[str, Any]) -> str:
    """:func:`searched`, whose search has published the default."""
    floor.tune()
    ticket = floor.claim()
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    document = shopfloor.document(floor.revision, job=ticket.job_uuid)
    record = record_add(**held, document=document)
    baseline = shopfloor.build(record.pk, is_baseline=True, ratio=1.0, verdict="same")
    builds_publish(**held, builds=[baseline])
    job_succeed(**held, result={"inconclusive": list(inconclusive)})
    return ticket.job_uuid


def test_the_reason_of_a_choice_says_what_is_being_confirmed_and_the_next_step() -> None:
    floor = shopfloor.floor()
    search = with_default(
        floor, candidate() | {"ratio": 0.8}, candidate("int8") | {"ratio": 0.5}, candidate("fp16")
    )
    request = LoadRequest("x86-64", {"avx2"}, {"onnxruntime"}, "exact")
    assert "probably" not in best_build(floor.revision, request).reason  # Nothing measures on.
    assert plan_repetition(job_uuid=search) is not None
    reason = best_build(floor.revision, request).reason
    assert "within tolerance 'exact' is probably 1.25 times as fast" in reason
    assert "being confirmed; load the model again later to get it" in reason
    assert "within tolerance 'int8' is probably 2 times as fast" in reason
    assert "load tolerance='int8' later to get it" in reason
    assert "inconclusive" not in reason
    offline = best_build(floor.revision, replace(request, scenario="offline")).reason
    assert "probably" not in offline


def test_the_reason_of_a_choice_does_not_call_the_default_best() -> None:
    floor = shopfloor.floor()
    with_default(floor, candidate())
    request = LoadRequest("x86-64", {"avx2"}, {"onnxruntime"}, "exact")
    reason = best_build(floor.revision, request).reason
    assert "inconclusive" in reason
    assert "'exact'" in reason
