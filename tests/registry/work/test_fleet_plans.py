"""The costs of the fleet page and the metrics do not grow with past jobs and attempts."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from registry.selectors.results.confirmation import records_by
from registry.selectors.work.fleet import counts_by_target, failures, leases, queue_of, work_of
from registry.selectors.work.jobattempt import attempts_of, utilisation
from registry.selectors.work.metrics import fleet_figures
from registry.selectors.work.target import targets
from registry.tables import Job, JobAttempt, MLModel, Namespace
from tests.plans import assert_reads_few
from tests.registry.shopfloor import make_machine
from tests.registry.work.queue_rows import fill

pytestmark = pytest.mark.django_db

_ENDED = 3_000
#: Waiting jobs, half as many as there are attempts of the past.
_WAITING = 1_500
_NOBODY = AnonymousUser()


@pytest.fixture
def scene(db: None) -> dict[str, Any]:
    """A device with many attempts of long ago, a few of today, and many waiting jobs."""
    target, device = make_machine()
    jobs = fill(target, jobs=_WAITING, owners=20)
    now = timezone.now()
    # A table of one row is read whole, whatever its indexes.
    namespace = Namespace.objects.get()
    MLModel.objects.bulk_create(
        MLModel(namespace=namespace, name=f"net-{number}", updated_at=now) for number in range(500)
    )

    def attempt(number: int, age: timedelta) -> JobAttempt:
        return JobAttempt(
            job_id=jobs[number % len(jobs)],
            fence=1 + number // len(jobs),
            device=device,
            target=target,
            level=0,
            wait_s=1.0,
            started_at=now - age - timedelta(seconds=40),
            ended_at=now - age,
            end="lost" if number % 50 == 0 else "succeeded",
            failure_class="infrastructure" if number % 50 == 0 else "",
        )

    old = [attempt(number, timedelta(days=30, seconds=number)) for number in range(_ENDED)]
    new = [attempt(_ENDED + number, timedelta(minutes=number)) for number in range(50)]
    JobAttempt.objects.bulk_create(old + new, batch_size=1000)
    return {"target": target, "device": device}


READS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "counts": lambda _: counts_by_target(targets()),
    "work": lambda scene: work_of(_NOBODY, [scene["device"]]),
    "queue of all": lambda _: queue_of(_NOBODY),
    "leases": lambda _: leases(_NOBODY),
    "failures": lambda _: failures(),
    "failures of a target": lambda scene: failures(scene["target"]),
    "utilisation": lambda _: utilisation(),
    "utilisation of a device": lambda scene: utilisation(device=scene["device"]),
    "utilisation of a target": lambda scene: utilisation(target=scene["target"]),
    "history": lambda scene: list(attempts_of(scene["device"]).order_by("-id")[:30]),
    "records": lambda scene: list(records_by(_NOBODY, scene["device"])[:20]),
}


def test_pages_read_few_rows(scene: dict[str, Any]) -> None:
    for read in READS.values():
        assert_reads_few(lambda read=read: read(scene), most=_WAITING + 200)  # type: ignore[misc]


def test_metrics_read_each_waiting_job_at_most_once(scene: dict[str, Any]) -> None:
    assert_reads_few(fleet_figures, most=_WAITING + 100)
    assert Job.objects.count() == _WAITING
