"""A lease is renewed while the work goes on, and its loss is heard of."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from registry.selectors.work.job import job_get
from registry.services.work.job import job_cancel
from registry.tables import Job
from tests.registry import shopfloor
from workers.engine.errors import Cancelled, LeaseLost
from workers.jobs.lease import Lease

# The heartbeat has a connection of its own: what it reads must be committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def floor(settings: Any) -> shopfloor.Floor:
    settings.JOB_LEASE_S = 1
    made = shopfloor.floor()
    made.tune()
    return made


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def raises(lease: Lease, kind: type[Exception]) -> bool:
    try:
        lease.check()
    except kind:
        return True
    return False


def test_it_is_renewed(floor: shopfloor.Floor) -> None:
    ticket = floor.claim()
    claimed_until = Job.objects.get().lease_until
    with Lease(ticket) as lease:
        until(lambda: Job.objects.get().lease_until != claimed_until)
        lease.check()


def test_its_loss_is_heard_of(floor: shopfloor.Floor) -> None:
    with Lease(floor.claim()) as lease:
        Job.objects.update(fence=99)
        until(lambda: raises(lease, LeaseLost))


def test_a_cancellation_is_heard_of(floor: shopfloor.Floor) -> None:
    ticket = floor.claim()
    with Lease(ticket) as lease:
        job_cancel(actor=None, job=job_get(None, ticket.job_uuid))
        until(lambda: raises(lease, Cancelled))


def test_its_thread_ends_with_it(floor: shopfloor.Floor) -> None:
    with Lease(floor.claim()) as lease:
        pass
    assert not lease._thread.is_alive()
