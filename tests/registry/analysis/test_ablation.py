"""The hub's memory of reverted decisions, and the jobs that measure them."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from hpcfair.tickets import JobTicket
from registry.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from registry.selectors.analysis.ablation import ablations_of
from registry.services.analysis.ablation import ablation_add, ablation_submit, plan_ablations
from registry.services.work.attempt import job_succeed
from registry.services.work.followup import follow_up
from registry.services.work.operations import job_read, job_write
from registry.states import JobKind, JobState, Visibility
from registry.tables import Device, Job, MLModel, ScheduleAblation, ScheduleTrial, Target, User
from tests.registry.analysis import workloads
from tests.registry.analysis.workloads import KEY, TOOLCHAIN, ablation, claim, searched

pytestmark = pytest.mark.django_db


@pytest.fixture
def best() -> ScheduleTrial:
    return searched()


@pytest.fixture
def ticket(best: ScheduleTrial) -> JobTicket:
    ablation_submit(actor=None, task=best.task)
    return claim(JobKind.ABLATE)


def add(ticket: JobTicket, row: dict[str, Any]) -> ScheduleAblation:
    return ablation_add(job_uuid=ticket.job_uuid, fence=ticket.fence, ablation=row)


def send(ticket: JobTicket, row: dict[str, Any]) -> Any:
    """As a device sends it: with its schema and the checks of plausibility."""
    return job_write(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        name="ablation_add",
        columns={"ablation": row},
        device=Device.objects.get(name=ticket.device),
    )


def read(ticket: JobTicket, name: str) -> Any:
    return job_read(job_uuid=ticket.job_uuid, fence=ticket.fence, name=name, parameters={})


def test_the_device_gets_the_workload_and_its_earlier_results(
    best: ScheduleTrial, ticket: JobTicket
) -> None:
    workload = read(ticket, "workload_of_job")
    assert (workload["key"], workload["toolchain"]) == (KEY, TOOLCHAIN)
    assert workload["source"]
    send(ticket, ablation(best))
    (row,) = read(ticket, "ablations_of_job")
    assert (row["position"], row["alternative"], row["digest"]) == (1, 0, best.digest)
    assert (row["ratio"], row["verdict"]) == (1.8, "slower")
    assert len(row["seconds"]) == len(row["best_seconds"]) == 12


def test_a_result_is_stored_once(best: ScheduleTrial, ticket: JobTicket) -> None:
    assert add(ticket, ablation(best)) == add(ticket, ablation(best, ratio=1.5))
    assert ScheduleAblation.objects.get().ratio == 1.8


def test_a_failed_variant_is_a_result(best: ScheduleTrial, ticket: JobTicket) -> None:
    failed = {
        "outcome": "invalid", "verdict": "unstable", "failure_detail": "does not fit",
        "seconds": [], "best_seconds": [], "ratio": None, "ratio_low": None, "ratio_high": None,
    }  # fmt: skip
    send(ticket, ablation(best) | failed)
    assert ScheduleAblation.objects.get().failure_detail == "does not fit"


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"ratio": 3.0, "ratio_low": 2.9, "ratio_high": 3.1}, "ratio"),
        ({"ratio_low": 0.5, "ratio_high": 0.6}, "ratio"),
        ({"verdict": "faster"}, "verdict"),
        ({"best_seconds": [0.001]}, "best_seconds"),
        ({"ratio": None}, "ratio"),
        ({"seconds": [1e6] * 12}, "seconds"),
        ({"outcome": "crash"}, "ratio"),
        ({"outcome": "pruned"}, "seconds"),
        ({"variant": "0" * 64}, "variant"),
        ({"alternative": 2}, "alternative"),
    ],
)
def test_a_device_cannot_send_what_cannot_be(
    best: ScheduleTrial, ticket: JobTicket, columns: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        send(ticket, ablation(best) | columns)
    assert refused.value.code == "impossible_result"
    assert field in refused.value.fields
    assert not ScheduleAblation.objects.exists()


@pytest.mark.parametrize(
    "columns",
    [
        {"position": 7},
        {"digest": "0" * 64},
        {"key": "9" * 64},
        {"toolchain": "apache-tvm 0.28"},
        {"outcome": "splendid"},
        {"colour": "blue"},
        {"reason": ""},
        {"seconds": [float("inf")]},
    ],
)
def test_what_is_no_ablation_of_this_job_is_refused(
    best: ScheduleTrial, ticket: JobTicket, columns: dict[str, Any]
) -> None:
    with pytest.raises(Invalid):
        send(ticket, ablation(best) | columns)
    assert not ScheduleAblation.objects.exists()


def test_a_lost_lease_keeps_results_out(best: ScheduleTrial, ticket: JobTicket) -> None:
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "done"})
    with pytest.raises(Conflict):
        add(ticket, ablation(best))


def test_a_job_names_a_workload_of_its_target(best: ScheduleTrial) -> None:
    ablation_submit(actor=None, task=best.task)
    Job.objects.filter(kind=JobKind.ABLATE).update(parameters={"workload": str(best.uuid)})
    with pytest.raises(NotFound):
        read(claim(JobKind.ABLATE), "workload_of_job")


def test_ablations_follow_a_search_for_the_workloads_with_most_time(settings: Any) -> None:
    settings.ABLATION_S = 30
    for number, calls in enumerate([1, 40, 30, 20]):
        best = searched(key=str(number) * 64, calls=calls, name=f"alice/net{number}")
    search = best.job
    assert search is not None
    follow_up(search)
    planned = workloads.jobs(JobKind.ABLATE)
    tasks = {str(trial.task.uuid): trial.task.key[0] for trial in ScheduleTrial.objects.all()}
    assert [tasks[job.parameters["workload"]] for job in planned] == ["1", "2", "3"]
    assert {job.priority for job in planned} == {310}
    assert plan_ablations(job_uuid=str(search.uuid)) == []
    assert not workloads.jobs(JobKind.CROSS)


def test_none_follows_where_they_are_switched_off(best: ScheduleTrial, settings: Any) -> None:
    settings.ABLATION_S = 0
    assert best.job is not None
    follow_up(best.job)
    assert not workloads.jobs(JobKind.ABLATE)


def test_a_schedule_is_ablated_once(best: ScheduleTrial, ticket: JobTicket) -> None:
    add(ticket, ablation(best))
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "done"})
    assert best.job is not None
    assert plan_ablations(job_uuid=str(best.job.uuid)) == []
    # A better schedule makes it worth the time again.
    searched(decisions=[[2, [1, 1, 4, 16]], [3, 2]], seconds=0.0009)
    assert len(plan_ablations(job_uuid=str(best.job.uuid))) == 1


def test_a_person_may_ask_for_workloads_of_their_own_models(best: ScheduleTrial) -> None:
    alice = User.objects.get(username="alice")
    job = ablation_submit(actor=alice, task=best.task, parameters={"budget_s": 20})
    assert job.parameters == {"budget_s": 20, "workload": str(best.task.uuid)}
    assert (job.requested_by, job.revision.mlmodel.name) == (alice, "squeezenet")
    assert ablation_submit(actor=alice, task=best.task) == job
    # Another workload of the same network is another job.
    other = searched(key="2" * 64)
    assert ablation_submit(actor=alice, task=other.task) != job


def test_others_may_not(best: ScheduleTrial) -> None:
    eve = User.objects.create(username="eve")
    with pytest.raises(Forbidden):
        ablation_submit(actor=eve, task=best.task)
    with pytest.raises(Unauthenticated):
        ablation_submit(actor=AnonymousUser(), task=best.task)
    with pytest.raises(Invalid):
        ablation_submit(actor=None, task=best.task, parameters={"budget_s": 1e9})
    Target.objects.update(enabled=False)
    best.task.target.refresh_from_db()
    with pytest.raises(Invalid) as refused:
        ablation_submit(actor=None, task=best.task)
    assert refused.value.code == "invalid_target"


def test_a_workload_without_a_schedule_is_refused(best: ScheduleTrial) -> None:
    ScheduleTrial.objects.update(confirmed_at=None)
    with pytest.raises(Invalid, match="confirmed"):
        ablation_submit(actor=None, task=best.task)


def test_readers_see_what_they_may(best: ScheduleTrial, ticket: JobTicket) -> None:
    add(ticket, ablation(best, 0, position=-1, ratio=1.0))
    add(ticket, ablation(best, 1))
    eve = User.objects.create(username="eve")
    assert [row.position for row in ablations_of(eve, best.task)] == [-1, 1]
    MLModel.objects.update(visibility=Visibility.PRIVATE)
    assert ablations_of(eve, best.task) == []
    assert len(ablations_of(User.objects.get(username="alice"), best.task)) == 2


def test_a_schedule_that_a_private_search_found_is_not_shown(best: ScheduleTrial) -> None:
    """Two models share a workload; the private one has the better schedule."""
    secret = searched("bob/secret", private=True, decisions=[[2, [1, 1, 4, 16]], [3, 2]])
    alice, bob = (User.objects.get(username=name) for name in ("alice", "bob"))
    ablation_submit(actor=alice, task=best.task)
    ticket = claim(JobKind.ABLATE)
    add(ticket, ablation(secret))
    assert ablations_of(alice, best.task) == []
    assert len(ablations_of(bob, best.task)) == 1


def test_only_the_newest_ablation_is_shown(best: ScheduleTrial, ticket: JobTicket) -> None:
    add(ticket, ablation(best))
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "done"})
    ablation_submit(actor=None, task=best.task)
    again = claim(JobKind.ABLATE)
    add(again, ablation(best, ratio=1.5))
    (row,) = ablations_of(None, best.task)
    assert row.ratio == 1.5
    assert Job.objects.get(uuid=again.job_uuid).state == JobState.LEASED
