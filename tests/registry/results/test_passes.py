"""What the hub remembers of compiler passes."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from hpcfair.tickets import JobTicket
from registry.errors import Conflict, Invalid
from registry.selectors.results.passes import (
    class_trials,
    pass_trials_of_job,
    portfolio_of,
)
from registry.selectors.work.queue import is_search_due
from registry.services.results.passes import (
    ENOUGH_NETWORKS,
    pass_trial_add,
    plan_pass_study,
    portfolio_store,
)
from registry.services.work.attempt import job_claim
from registry.states import JobKind
from registry.tables import Graph, Job, JobFlow, PassPortfolio, PassTrial
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

KEY = {"backend": "tvm", "toolchain": "apache-tvm 0.27", "architecture_class": "plain-cnn"}
LISTS = [{"passes": "A,B", "objective": "compile", "networks": 2, "ratio": 0.6}]


def floor_of(number: int) -> shopfloor.Floor:
    """A floor with a network of its own."""
    made = shopfloor.floor(f"alice/net{number}")
    Graph.objects.filter(pk=made.graph.pk).update(graph_hash=f"{number:064d}")
    return made


def searched(number: int = 0) -> Job:
    """A search of a network of its own."""
    return floor_of(number).tune()


@pytest.fixture
def ticket() -> JobTicket:
    plan_pass_study(job_uuid=str(searched().uuid))
    found = job_claim(device_name="floor-1", kinds=[JobKind.PASSES], target=shopfloor.SLUG)
    assert found is not None
    return found


def a_trial(number: int = 0, **columns: Any) -> dict[str, Any]:
    return {
        **KEY,
        "graph_hash": "a" * 64,
        "number": number,
        "role": "ablation",
        "about": "drop C",
        "passes": "A,B",
        "outcome": "measured",
        "failure_detail": "",
        "compile_s": 0.5,
        "compile_ratio": 0.6,
        "compile_ratio_low": 0.55,
        "compile_ratio_high": 0.65,
        "ratio": 1.0,
        "ratio_low": 1.0,
        "ratio_high": 1.0,
        "same_code": True,
        "measurement": {"compile": [{"process": 0, "candidate_ns": [5], "baseline_ns": [9]}]},
        **columns,
    }


def add(ticket: JobTicket, *about: Any, **columns: Any) -> PassTrial:
    trial = a_trial(*about, **columns)
    return pass_trial_add(job_uuid=ticket.job_uuid, fence=ticket.fence, trial=trial)


def store(ticket: JobTicket, **columns: Any) -> PassPortfolio:
    given = {**KEY, "networks": 3, "lists": LISTS, **columns}
    return portfolio_store(job_uuid=ticket.job_uuid, fence=ticket.fence, **given)


def test_a_trial_comes_back_as_it_was_added(ticket: JobTicket) -> None:
    row = add(ticket)
    assert row.target.slug == shopfloor.SLUG
    assert add(ticket, ratio=0.1) == row
    assert pass_trials_of_job(ticket.job_uuid, "tvm") == [a_trial()]
    assert pass_trials_of_job(ticket.job_uuid, "onnxruntime") == []
    add(ticket, backend="onnxruntime", passes="x" * 5000)
    assert PassTrial.objects.count() == 2


def test_a_class_is_told_what_was_measured_for_it(ticket: JobTicket) -> None:
    add(ticket, 1)
    add(ticket, 2, outcome="crash", failure_detail="\0dump", ratio=None)
    add(ticket, 3, architecture_class="detection")
    add(ticket, 4, toolchain="apache-tvm 0.28")
    (row,) = class_trials(target=shopfloor.SLUG, **KEY)
    assert row["number"] == 1
    assert "measurement" not in row
    assert class_trials(target="nowhere", **KEY) == []


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"colour": "red"}, "colour"),
        ({"job": 1}, "job"),
        ({"outcome": "fine"}, "outcome"),
        ({"architecture_class": "cubist"}, "architecture_class"),
    ],
)
def test_a_trial_with_odd_columns_is_refused(
    ticket: JobTicket, wrong: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as caught:
        add(ticket, **wrong)
    assert set(caught.value.fields) == {field}


def test_numbers_that_are_none_are_refused(ticket: JobTicket) -> None:
    with pytest.raises(Invalid):
        add(ticket, ratio=float("nan"))
    with pytest.raises(Invalid):
        store(ticket, lists=[{"ratio": float("inf")}])
    assert not PassTrial.objects.exists()
    assert not PassPortfolio.objects.exists()


def test_who_lost_the_job_writes_nothing(ticket: JobTicket) -> None:
    Job.objects.update(fence=99)
    for write in (add, store):
        with pytest.raises(Conflict):
            write(ticket)


def test_a_portfolio_is_replaced_and_serves_its_toolchain_only(ticket: JobTicket) -> None:
    store(ticket, lists=[])
    assert portfolio_of(shopfloor.SLUG, "plain-cnn", {"tvm": "apache-tvm 0.27"}) == {}
    store(ticket, lists=[*LISTS, {**LISTS[0], "objective": "latency"}, {**LISTS[0], "passes": "D"}])
    assert PassPortfolio.objects.count() == 1
    found = portfolio_of(shopfloor.SLUG, "plain-cnn", {"tvm": "apache-tvm 0.27", "x": "1"})
    assert found == {"tvm": ("A,B", "D")}
    assert portfolio_of(shopfloor.SLUG, "plain-cnn", {"tvm": "apache-tvm 0.28"}) == {}
    assert portfolio_of(shopfloor.SLUG, "detection", {"tvm": "apache-tvm 0.27"}) == {}


def test_few_networks_of_a_class_are_studied_each_once() -> None:
    jobs = [searched(number) for number in range(ENOUGH_NETWORKS + 2)]
    planned = [plan_pass_study(job_uuid=str(job.uuid)) for job in jobs]
    assert [study is not None for study in planned] == [True] * ENOUGH_NETWORKS + [False] * 2
    first = planned[0]
    assert first is not None
    assert (first.kind, first.revision) == (JobKind.PASSES, jobs[0].revision)
    assert first.priority > max(job.priority for job in jobs)
    Job.objects.filter(kind=JobKind.PASSES).exclude(pk=first.pk).delete()
    assert plan_pass_study(job_uuid=str(jobs[0].uuid)) is None
    assert plan_pass_study(job_uuid=str(jobs[-1].uuid)) is not None


def test_a_search_that_people_wait_for_comes_first(ticket: JobTicket) -> None:
    assert is_search_due(ticket.job_uuid)
    search = Job.objects.get(kind=JobKind.TUNE)
    search.not_before = timezone.now() + timedelta(hours=1)
    search.save()
    # While it pauses nobody would claim it.
    assert not is_search_due(ticket.job_uuid)
    search.not_before = timezone.now()
    search.save()
    assert is_search_due(ticket.job_uuid)
    JobFlow.objects.filter(jobs=search).update(due_s=10**6)
    assert not is_search_due(ticket.job_uuid)


def test_operators_read_portfolios_with_their_evidence(ticket: JobTicket) -> None:
    store(ticket)
    store(ticket, architecture_class="detection", networks=1, lists=[])

    def told(*arguments: str) -> str:
        out = StringIO()
        call_command("passes", *arguments, stdout=out)
        return out.getvalue()

    everything = told("--target", shopfloor.SLUG)
    assert "compile 0.60 (serves 2 of 3)\tA,B" in everything
    assert "3 networks studied" in everything
    assert "the compiler's own passes are best" in everything
    assert "plain-cnn" not in told("--class", "detection")
    with pytest.raises(CommandError, match="nowhere"):
        told("--target", "nowhere")
