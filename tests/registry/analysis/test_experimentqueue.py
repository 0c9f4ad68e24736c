"""Experiments give way to the searches that owners wait for."""

import pytest

from registry.selectors.work.queue import is_search_due
from registry.services.analysis.ablation import ablation_submit
from registry.services.work.job import job_submit
from registry.states import WORKLOAD_JOBS, JobKind
from registry.tables import Job, Revision, Target, User
from tests.registry import shopfloor
from tests.registry.analysis.workloads import claim, searched

pytestmark = pytest.mark.django_db


def alice() -> User:
    return User.objects.get(username="alice")


def search() -> Job:
    """A search that the owner of a model submits."""
    return job_submit(
        actor=alice(),
        kind=JobKind.TUNE,
        revision=Revision.objects.get(),
        target=Target.objects.get(),
    )


def next_kind() -> str:
    """The kind of the job that a free device of the target gets."""
    ticket = shopfloor.job_claim(
        device_name=f"on-{shopfloor.SLUG}",
        kinds=[JobKind.TUNE, *sorted(WORKLOAD_JOBS)],
        target=shopfloor.SLUG,
    )
    assert ticket is not None
    return ticket.kind


@pytest.mark.parametrize("is_requested", [False, True])
def test_a_search_is_served_before_experiments_that_were_queued_earlier(
    is_requested: bool,  # noqa: FBT001
) -> None:
    for number in range(4):
        best = searched(key=f"{number}" * 64)
        ablation_submit(actor=alice() if is_requested else None, task=best.task)
    search()
    assert [next_kind() for _ in range(5)] == ["tune", *["ablate"] * 4]


@pytest.mark.parametrize("is_requested", [False, True])
def test_a_running_experiment_yields_to_a_search(is_requested: bool) -> None:  # noqa: FBT001
    best = searched()
    ablation_submit(actor=alice() if is_requested else None, task=best.task)
    ticket = claim(JobKind.ABLATE)
    assert not is_search_due(ticket.job_uuid)
    search()
    assert is_search_due(ticket.job_uuid)


def test_experiments_of_one_account_do_not_delay_the_search_of_another() -> None:
    for number in range(4):
        best = searched(key=f"{number}" * 64)
        ablation_submit(actor=alice(), task=best.task)
    bob = searched("bob/net", graph_hash="b" * 64, key="9" * 64)
    assert bob.job is not None
    job_submit(
        actor=User.objects.get(username="bob"), kind=JobKind.TUNE, revision=bob.job.revision,
        target=bob.task.target,
    )  # fmt: skip
    assert next_kind() == "tune"
