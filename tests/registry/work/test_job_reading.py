"""Reads of jobs for those who watch them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hpcfair.tickets import JobTicket
from registry.selectors.work.job import best_trials, job_version, newest_jobs, trials_of
from registry.services.results.trial import trial_add
from registry.services.work.attempt import job_fail, job_note, job_succeed
from registry.states import FailureClass
from registry.tables import Job
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


def handle(ticket: JobTicket) -> dict[str, object]:
    return {"job_uuid": ticket.job_uuid, "fence": ticket.fence}


def add(ticket: JobTicket, number: int, threads: str, ratio: float, width: float = 0.02) -> None:
    interval = {"ratio": ratio, "ratio_low": ratio - width, "ratio_high": ratio + width}
    trial_add(**handle(ticket), trial=shopfloor.trial(number, threads, **interval))


def test_the_best_trial_is_proved_faster(floor: Floor) -> None:
    job = floor.tune()
    ticket = floor.claim()
    assert best_trials([job]) == {}
    add(ticket, 0, "all", 0.99)
    assert best_trials([job]) == {}
    add(ticket, 1, "half", 0.7, width=0.5)
    add(ticket, 2, "one", 0.8)
    add(ticket, 3, "two", 0.9)
    assert best_trials([job])[job.pk].number == 2


def test_trials_are_read_without_their_samples(floor: Floor) -> None:
    job = floor.tune()
    add(floor.claim(), 0, "all", 0.9)
    with CaptureQueriesContext(connection) as queries:
        assert len(list(trials_of(job))) == 1
    assert "measurement" not in queries[0]["sql"]


def test_the_version_changes_with_trials_log_and_state(floor: Floor) -> None:
    job = floor.tune()
    ticket = floor.claim()
    job.refresh_from_db()
    versions = [job_version(job)]
    add(ticket, 0, "all", 0.9)
    versions.append(job_version(job))
    job_note(**handle(ticket), message="a line")
    versions.append(job_version(job))
    job_succeed(**handle(ticket), result={"summary": "done"})
    job.refresh_from_db()
    versions.append(job_version(job))
    assert len(set(versions)) == 4
    assert versions[-1] == job_version(Job.objects.get(pk=job.pk))


def test_the_newest_ended_job_of_each_kind_counts(floor: Floor) -> None:
    failed = floor.tune()
    job_fail(
        **handle(floor.claim()),
        failure_class=FailureClass.INVALID,
        code="no_backend",
        detail="No backend is installed.",
    )
    assert [job.pk for job in newest_jobs(floor.revision)] == [failed.pk]
    again = floor.tune()
    assert newest_jobs(floor.revision) == []
    job_succeed(**handle(floor.claim()), result={"summary": "done"})
    assert [job.pk for job in newest_jobs(floor.revision)] == [again.pk]
