"""Many at once, for real: threads and processes at one database."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from registry.errors import Conflict
from registry.services.work.agent import agent_end
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.device import device_quarantine, device_resume
from registry.services.work.job import job_submit
from registry.services.work.operations import job_write
from registry.services.work.reaper import job_reap
from registry.states import JobKind, JobState
from registry.tables import Job, JobEvent, JobReport, Target
from tests.factories import database_url
from tests.registry import shopfloor
from tests.registry.agents import machine

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

ROOT = Path(__file__).parents[3]
THREADS = 4

# Waits for the starting signal on its input, claims until nothing is left, prints what it got.
CLAIMER = """
import json, sys
import django
django.setup()
from registry.services.work.attempt import job_claim
print("ready", flush=True)
sys.stdin.readline()
got = []
while ticket := job_claim(device_name="floor-1", kinds=["tune"], target=sys.argv[1]):
    got.append([ticket.job_uuid, ticket.fence])
print(json.dumps(got), flush=True)
"""


def queue(count: int) -> list[Job]:
    return [shopfloor.floor(f"alice/net{number}").tune() for number in range(count)]


def at_once(work: Callable[[], Any]) -> list[Any]:
    """What each of several threads got, all let go in the same moment."""
    barrier = threading.Barrier(THREADS)
    results: list[Any] = []

    def run() -> None:
        try:
            barrier.wait()
            results.append(work())
        except Conflict as error:
            results.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == THREADS
    return results


def claim_all() -> list[str]:
    claim = {"device_name": "floor-1", "kinds": [JobKind.TUNE], "target": shopfloor.SLUG}
    claimed = []
    while ticket := job_claim(**claim):
        claimed.append(ticket.job_uuid)
    return claimed


def test_processes_claim_each_job_exactly_once() -> None:
    jobs = queue(24)
    environment = os.environ | {
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "hub.settings.testing",
    }
    claimers = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIMER, shopfloor.SLUG],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for claimer in claimers:
        assert claimer.stdout is not None
        assert claimer.stdout.readline() == "ready\n"
    for claimer in claimers:
        assert claimer.stdin is not None
        claimer.stdin.write("go\n")
        claimer.stdin.flush()
    outputs = [claimer.communicate(timeout=300)[0] for claimer in claimers]
    claimed = [tuple(claim) for output in outputs for claim in json.loads(output)]
    assert sorted(claimed) == sorted((str(job.uuid), 1) for job in jobs)
    assert set(Job.objects.values_list("state", "attempt", "fence")) == {(JobState.LEASED, 1, 1)}


def test_threads_claim_each_job_exactly_once() -> None:
    jobs = queue(12)
    claimed = [uuid for part in at_once(claim_all) for uuid in part]
    assert sorted(claimed) == sorted(str(job.uuid) for job in jobs)


def test_submitters_workers_and_reapers_do_not_stop_each_other() -> None:
    """All at one target: they lock jobs, the flows of three accounts, and what new ones share."""
    floors = [shopfloor.floor(f"owner{number % 3}/net{number}") for number in range(30)]
    left = iter(floors)
    lock = threading.Lock()

    def act() -> int:
        count = 0
        while True:
            with lock:
                floor = next(left, None)
            if floor is not None:
                floor.tune()
            claim = {"device_name": "floor-1", "kinds": [JobKind.TUNE], "target": shopfloor.SLUG}
            ticket = job_claim(**claim)
            if ticket is not None:
                job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
                count += 1
            job_reap()
            if floor is None and ticket is None:
                return count

    assert sum(at_once(act)) == len(floors)
    assert set(Job.objects.values_list("state", "fence")) == {(JobState.SUCCEEDED, 1)}


def test_reapers_take_each_lease_once() -> None:
    queue(6)
    claim_all()
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert sum(at_once(job_reap)) == 6
    assert set(Job.objects.values_list("state", "attempt")) == {(JobState.QUEUED, 1)}


def test_the_same_work_asked_for_at_once_is_one_job() -> None:
    floor = shopfloor.floor()
    ask = {"actor": None, "kind": JobKind.TUNE, "revision": floor.revision}
    jobs = at_once(lambda: job_submit(**ask, target=floor.target))
    assert len({job.pk for job in jobs}) == 1
    assert Job.objects.count() == 1


def test_a_success_and_the_reaper_do_not_both_win() -> None:
    floor = shopfloor.floor()
    for _ in range(5):
        job = floor.tune()
        ticket = floor.claim()
        Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        calls = iter([job_reap, job_reap, job_reap])
        lock = threading.Lock()

        def finish_or_reap(ticket: Any = ticket, calls: Any = calls, lock: Any = lock) -> Any:
            with lock:
                reap = next(calls, None)
            if reap:
                return reap()
            return job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})

        outcomes = at_once(finish_or_reap)
        refused = any(isinstance(outcome, Conflict) for outcome in outcomes)
        reaped = sum(outcome for outcome in outcomes if isinstance(outcome, int))
        job.refresh_from_db()
        assert reaped == int(refused)
        assert job.state == (JobState.QUEUED if refused else JobState.SUCCEEDED)
        Job.objects.all().delete()


def test_a_write_that_arrives_many_times_at_once_takes_effect_once() -> None:
    queue(1)
    ticket = job_claim(device_name="floor-1", kinds=[JobKind.TUNE], target=shopfloor.SLUG)
    assert ticket is not None

    def write() -> Any:
        return job_write(
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            name="note",
            columns={"message": "hello"},
            number=1,
        )

    assert at_once(write) == [{}] * THREADS
    assert JobEvent.objects.filter(message="hello").count() == 1


def test_an_end_that_arrives_many_times_at_once_counts_once(settings: Any) -> None:
    settings.SCHEDULE_S = 60
    (job,) = queue(1)
    agent = machine(Target.objects.get())
    ticket = agent.claim()
    report = agent.succeeded(ticket)

    def end() -> Any:
        return agent_end(device=agent.device, job_uuid=ticket.job_uuid, **report)

    assert at_once(end) == [{"state": "succeeded", "is_late": False}] * THREADS
    assert JobReport.objects.count() == 1
    assert Job.objects.filter(kind=JobKind.SCHEDULE).count() == 1
    assert job.attempts.count() == 1


def test_a_device_that_is_quarantined_while_it_claims_holds_nothing() -> None:
    queue(12)
    lock = threading.Lock()
    for _ in range(5):
        decisions = iter([device_quarantine])

        def act(decisions: Any = decisions) -> Any:
            with lock:
                decide = next(decisions, None)
            if decide:
                return decide(actor=None, name="floor-1")
            claim = {"device_name": "floor-1", "kinds": [JobKind.TUNE], "target": shopfloor.SLUG}
            return job_claim(**claim)

        at_once(act)
        assert not Job.objects.filter(state=JobState.LEASED).exists()
        device_resume(actor=None, name="floor-1")
