"""Candidates that were tried."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from hpcfair.tickets import JobTicket
from registry.errors import Invalid, NotFound
from registry.selectors.results.trial import history, trial_get, trials_of_job
from registry.services.results.trial import trial_add
from registry.tables import Graph, Job, Target, Trial
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db


@pytest.fixture
def ticket() -> JobTicket:
    floor = shopfloor.floor()
    floor.tune()
    return floor.claim()


def add(ticket: JobTicket, *about: Any, **columns: Any) -> Trial:
    trial = shopfloor.trial(*about, **columns)
    return trial_add(job_uuid=ticket.job_uuid, fence=ticket.fence, trial=trial)


def another_job() -> JobTicket:
    floor = shopfloor.floor(f"alice/net{Trial.objects.count()}")
    floor.tune()
    return floor.claim()


def history_for(ticket: JobTicket, search_key: str = "b" * 64) -> list[dict[str, Any]]:
    return history(search_key, Job.objects.get(uuid=ticket.job_uuid))


def test_a_trial_comes_back_as_it_was_added(ticket: JobTicket) -> None:
    trial = shopfloor.trial(
        0,
        predicted_ratio=0.9,
        failure_detail="",
        ratio_low=0.7,
        ratio_high=0.9,
        p50_ns=3_000_000,
        deviation={"max_absolute": 1e-9},
        accuracy=0.98,
        measurement={"blocks": [{"process": 0, "candidate_ns": [5], "baseline_ns": [6]}]},
        compile_s=0.1,
    )
    row = trial_add(job_uuid=ticket.job_uuid, fence=ticket.fence, trial=trial)
    assert row.target.slug == shopfloor.SLUG
    assert trials_of_job(ticket.job_uuid) == [trial]


def test_adding_a_trial_twice_is_adding_it_once(ticket: JobTicket) -> None:
    first = add(ticket, 1)
    assert add(ticket, 1, ratio=0.1) == first
    # The message of an earlier claim may have been numbered differently.
    assert add(ticket, 2) == first
    assert [trial["ratio"] for trial in trials_of_job(ticket.job_uuid)] == [0.8]


def test_a_rig_that_failed_leaves_the_candidate_another_chance(ticket: JobTicket) -> None:
    failed = {"outcome": "infrastructure", "ratio": None, "tolerance": ""}
    add(ticket, 1, **failed)
    add(ticket, 1, **failed)
    add(ticket, 2, **failed)
    measured = add(ticket, 3)
    assert add(ticket, 4) == measured
    outcomes = [trial["outcome"] for trial in trials_of_job(ticket.job_uuid)]
    assert outcomes == ["infrastructure", "infrastructure", "measured"]


def test_two_candidates_do_not_share_a_number(ticket: JobTicket) -> None:
    add(ticket, 1, "all")
    with pytest.raises(Invalid, match="with another candidate"):
        add(ticket, 1, "half")


def test_what_a_crashing_child_printed_is_kept(ticket: JobTicket) -> None:
    row = add(ticket, 1, outcome="crash", failure_detail="\0dump")
    row.refresh_from_db()
    assert row.failure_detail == "\ufffddump"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"colour": "red"}, "colour"),
        ({"job": 1}, "job"),
        ({"outcome": "fine"}, "outcome"),
        ({"tolerance": "fp4"}, "tolerance"),
    ],
)
def test_a_trial_with_odd_columns_is_refused(
    ticket: JobTicket, wrong: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as caught:
        add(ticket, 1, **wrong)
    assert set(caught.value.fields) == {field}


def test_a_trial_names_what_it_lacks(ticket: JobTicket) -> None:
    with pytest.raises(Invalid) as caught:
        trial_add(job_uuid=ticket.job_uuid, fence=ticket.fence, trial={"number": 1})
    assert caught.value.fields["config_sha256"] == "is missing"


@pytest.mark.parametrize("ratio", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_refused(ticket: JobTicket, ratio: float) -> None:
    with pytest.raises(Invalid):
        add(ticket, 1, ratio=ratio)
    assert not Trial.objects.exists()


def test_history_tells_the_mean_of_each_candidate_best_first(ticket: JobTicket) -> None:
    add(ticket, 1, "all", ratio=0.5)
    add(ticket, 2, "half", ratio=0.7)
    add(ticket, 3, "one", outcome="crash", ratio=None)
    later = another_job()
    add(later, 1, "all", ratio=1.1)
    add(later, 2, "two", ratio=0.1, search_key="c" * 64)
    newest = another_job()
    found = history_for(newest)
    assert [row["candidate"]["options"]["threads"] for row in found] == ["half", "all"]
    assert [row["ratio"] for row in found] == pytest.approx([0.7, 0.8])
    assert [row["ratio"] for row in history_for(later)] == [0.5, 0.7]
    assert {row["tolerance"] for row in found} == {"exact"}
    assert history_for(newest, "d" * 64) == []


def test_history_has_only_trials_of_the_network_and_target(ticket: JobTicket) -> None:
    add(ticket, 1)
    newest = another_job()
    assert len(history_for(newest)) == 1
    other = Target.objects.create(slug="other", architecture="x86-64")
    Trial.objects.update(target=other)
    assert history_for(newest) == []
    Trial.objects.update(target=Job.objects.get(uuid=ticket.job_uuid).target)
    assert len(history_for(newest)) == 1
    Graph.objects.filter(revision__jobs__uuid=ticket.job_uuid).update(graph_hash="f" * 64)
    assert history_for(newest) == []


def test_history_forgets_what_others_on_the_machine_disturbed(ticket: JobTicket) -> None:
    add(ticket, 1, "all", ratio=0.5, measurement={"quality": {"unstable": False}})
    add(ticket, 2, "half", ratio=0.1, measurement={"quality": {"disturbed": True}})
    add(ticket, 3, "one", ratio=0.7, measurement={})
    threads = [row["candidate"]["options"]["threads"] for row in history_for(another_job())]
    assert threads == ["all", "one"]


def test_a_trial_is_seen_by_those_who_may_read_the_model() -> None:
    floor = shopfloor.floor("alice/secret", private=True)
    floor.tune()
    trial = add(floor.claim(), 1)
    assert trial_get(floor.alice, str(trial.uuid)) == trial
    for uuid in (str(trial.uuid), "nonsense"):
        with pytest.raises(NotFound):
            trial_get(AnonymousUser(), uuid)
