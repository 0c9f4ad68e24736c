"""No statement of the queue reads all waiting jobs: its plans, with many of them, and no timing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from registry.selectors.work.job import jobs_of
from registry.selectors.work.queue import waits_of
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.reaper import job_reap
from registry.states import JobKind
from registry.tables import Device, Job, JobFlow, MLModel, Target, User
from tests.registry.shopfloor import SLUG, make_machine
from tests.registry.work.queue_rows import fill, scans, statements

pytestmark = pytest.mark.django_db

JOBS, OWNERS = 20_000, 400


@pytest.fixture
def machine() -> tuple[Target, Device]:
    return make_machine()


def claim() -> Any:
    return job_claim(device_name="floor-1", kinds=[JobKind.TUNE, JobKind.PASSES], target=SLUG)


def claim_and_succeed() -> None:
    ticket = claim()
    assert ticket is not None
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})


READS: dict[str, Callable[[], Any]] = {
    "claim": claim_and_succeed,
    "reaper": job_reap,
    "list by state": lambda: list(jobs_of(None, state="queued")[:50]),
    "list by kind": lambda: list(jobs_of(None, kind="tune")[:50]),
    "list by target": lambda: list(jobs_of(None, target=SLUG)[:50]),
    "waits": lambda: waits_of(list(jobs_of(None, state="queued")[:50])),
}


def test_no_statement_reads_all_waiting_jobs(machine: tuple[Target, Device]) -> None:
    fill(machine[0], jobs=JOBS, owners=OWNERS)
    # All are overdue: the reaper notifies of a few, and changes none of them.
    Job.objects.update(notified_at=timezone.now() - timedelta(minutes=5))
    bad = {
        f"{name}: {sql[:200]}": steps
        for name, act in READS.items()
        for sql, params in statements(act)
        if (steps := scans(sql, params))
    }
    assert not bad


def test_the_number_of_statements_does_not_grow_with_jobs_and_owners(
    machine: tuple[Target, Device],
) -> None:
    counts = []
    for jobs, owners in ((40, 20), (2000, 300)):
        fill(machine[0], jobs=jobs, owners=owners)
        claim_and_succeed()
        counts.append({name: len(statements(act)) for name, act in READS.items()})
        for table in (Job, JobFlow, MLModel, User):
            table.objects.all().delete()
    assert counts[0] == counts[1]
