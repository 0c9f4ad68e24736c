"""Submitters, workers and reapers of the queue that are killed at random moments.

A helper process forks them on demand, as :mod:`tests.registry.storage.killing` does, so that
killing hundreds takes seconds. Each appends what it was told to a log on the disk.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db.models import F
from django.utils import timezone

from registry.errors import Conflict
from registry.selectors.work.target import target_get
from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.services.results.trial import trial_add
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.job import job_submit
from registry.services.work.reaper import job_reap
from registry.states import JobKind, JobState
from registry.tables import Build, Job, JobEvent, Revision, Trial
from tests.registry import shopfloor

# One line in, "<role> <seed>", forks one, whose number is one line out; the next line in says that
# it is dead.
HELPER = """
import os, sys
import django
django.setup()
from registry import dispatch
from tests.registry.work.queue_killing import ROLES
# The first message takes longer than a process lives.
dispatch.notify_kind("inspect")
print("ready", flush=True)
for line in sys.stdin:
    role, seed = line.split()
    worker = os.fork()
    if worker == 0:
        try:
            ROLES[role](sys.argv[1], int(seed))
        finally:
            os._exit(1)
    print(worker, flush=True)
    sys.stdin.readline()
    print(os.waitpid(worker, 0)[1], flush=True)
"""


@dataclass
class Outcome:
    """What came of it.

    Attributes:
        kills: Processes that died of SIGKILL, by role.
        submitted: Jobs whose submission was acknowledged.
        succeeded: Jobs whose success was acknowledged.
        interrupted: States in which kills left jobs, by what the job had stored.
        lost: Acknowledged jobs that are missing, or do not end, or whose success was forgotten.
        twice: Jobs with two successes, or with two sets of builds or trials.
    """

    kills: Counter[str] = field(default_factory=Counter)
    submitted: int = 0
    succeeded: int = 0
    interrupted: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)


def submit_on(log: str, seed: int) -> None:
    """Queue searches of random revisions for ever."""
    choice = random.Random(seed)  # noqa: S311 (it only spreads the work)
    revisions = list(Revision.objects.select_related("mlmodel__namespace").order_by("pk"))
    target = target_get(shopfloor.SLUG)
    while True:
        job = job_submit(
            actor=None, kind=JobKind.TUNE, revision=choice.choice(revisions), target=target
        )
        _log(log, f"submitted {job.uuid}")


def work_on(log: str, seed: int) -> None:
    """Do searches for ever: a trial, a record, a build, the end."""
    while True:
        work_once(log)


def work_once(log: str) -> bool:
    """Do the next search; whether there was one."""
    ticket = job_claim(device_name="floor-1", kinds=[JobKind.TUNE], target=shopfloor.SLUG)
    if ticket is None:
        return False
    held: dict[str, Any] = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    revision = Revision.objects.get(oid=ticket.revision_oid)
    try:
        trial_add(**held, trial=shopfloor.trial())
        document = shopfloor.document(revision, job=ticket.job_uuid)
        record = record_add(**held, document=document)
        builds_publish(**held, builds=[shopfloor.build(record.pk, is_baseline=True)])
        job_succeed(**held, result={})
        _log(log, f"succeeded {ticket.job_uuid}")
    except Conflict:
        # The test's reaper has given it to another one.
        pass
    return True


def reap_on(log: str, seed: int) -> None:
    """Take leases away and requeue their jobs for ever."""
    while True:
        expire()
        job_reap()


def expire() -> None:
    """End all leases of jobs that a kill may have left, as time would."""
    past = timezone.now() - timedelta(seconds=1)
    # Such interruptions are charged, and a job is given up after three attempts or too many claims.
    Job.objects.filter(state=JobState.LEASED).update(
        lease_until=past, attempt=1, yields=F("fence") - 1
    )


ROLES = {"submit": submit_on, "work": work_on, "reap": reap_on}


def kill_queue(
    *, log: Path, environment: dict[str, str], kills: int, longest_s: float = 0.4, seed: int = 0
) -> Outcome:
    """Kill so many processes one after another, do what is left, and count.

    Args:
        log: A file of this run's own.
        environment: Of the helper: names the database that this process uses.
        longest_s: The longest time that a process lives after it has begun.
    """
    chance = random.Random(seed)  # noqa: S311 (it only spreads the kills)
    outcome = Outcome()
    log.touch()
    helper = subprocess.Popen(
        [sys.executable, "-c", HELPER, str(log)],
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert helper.stdin is not None
    assert helper.stdout is not None
    assert helper.stdout.readline() == "ready\n"
    try:
        for number in range(kills):
            role = ("submit", "work", "work", "reap")[number % 4]
            print(role, seed + number, file=helper.stdin, flush=True)
            worker = int(helper.stdout.readline())
            time.sleep(chance.uniform(0.0, longest_s))
            os.kill(worker, signal.SIGKILL)
            print("dead", file=helper.stdin, flush=True)
            outcome.kills[role] += int(helper.stdout.readline()) == signal.SIGKILL
            outcome.interrupted.update(map(_progress, Job.objects.filter(state=JobState.LEASED)))
            if role == "work":
                expire()
                job_reap()
    finally:
        helper.kill()
        helper.communicate()
    _finish(log)
    _count(log, outcome)
    return outcome


def _progress(job: Job) -> str:
    if Build.objects.filter(job=job).exists():
        return "published"
    return "tried" if Trial.objects.filter(job=job).exists() else "claimed"


def _finish(log: Path) -> None:
    # PostgreSQL may still be doing the last statement of a client that is dead.
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        expire()
        job_reap()
        while work_once(str(log)):
            pass
        if not Job.objects.exclude(state=JobState.SUCCEEDED).exists():
            return


def _count(log: Path, outcome: Outcome) -> None:
    lines = [line.split() for line in log.read_text().splitlines()]
    submitted = {uuid for word, uuid in lines if word == "submitted"}
    succeeded = [uuid for word, uuid in lines if word == "succeeded"]
    outcome.submitted, outcome.succeeded = len(submitted), len(succeeded)
    states = {str(job.uuid): job.state for job in Job.objects.all()}
    outcome.lost += [uuid for uuid in {*submitted, *succeeded} if states.get(uuid) != "succeeded"]
    outcome.lost += [uuid for uuid, state in states.items() if state != JobState.SUCCEEDED]
    ends = Counter(
        str(uuid)
        for uuid in JobEvent.objects.filter(message="Succeeded.").values_list(
            "job__uuid", flat=True
        )
    )
    trials = Counter(Trial.objects.values_list("job__uuid", flat=True))
    builds = Counter(Build.objects.values_list("job__uuid", flat=True))
    outcome.twice += [uuid for uuid, count in ends.items() if count > 1]
    outcome.twice += [uuid for uuid, count in Counter(succeeded).items() if count > 1]
    outcome.twice += [str(key) for key, count in (*trials.items(), *builds.items()) if count > 1]


def _log(log: str, line: str) -> None:
    with Path(log).open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())
