"""Signals and the end of an allocation end the agent in time."""

import os
import signal
import time

import pytest

from workers.agent.stop import Stop
from workers.engine.errors import Cancelled


def send(number: int = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


def work(stop: Stop, signals: int) -> None:
    """Work that gets a number of signals and does not end by itself."""
    with stop.interruptible():
        for _ in range(signals):
            send()
        time.sleep(30)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_first_signal_drains(number: int) -> None:
    with Stop(drain_s=60) as stop, stop.interruptible():
        assert not stop.is_requested
        send(number)
        stop.wait(0.1)
        assert stop.is_requested
        assert not stop.is_due
        stop.check()
        available_s = stop.available_s
    assert available_s is not None
    assert 50 < available_s <= 60


def test_a_second_signal_interrupts_the_work() -> None:
    with Stop(drain_s=60) as stop:
        with pytest.raises(Cancelled):
            work(stop, 2)
        # What follows the work is not interrupted.
        time.sleep(0.01)
        with pytest.raises(Cancelled):
            stop.check()


def test_work_that_does_not_end_in_time_is_interrupted() -> None:
    with Stop(drain_s=0.2) as stop:
        started_at = time.monotonic()
        with pytest.raises(Cancelled):
            work(stop, 1)
    assert time.monotonic() - started_at < 20


def test_work_is_interrupted_before_the_allocation_ends() -> None:
    with Stop(drain_s=60, ends_in_s=0.2) as stop:
        with pytest.raises(Cancelled), stop.interruptible():
            time.sleep(30)
        assert stop.is_requested


def test_a_prolonged_allocation_is_used() -> None:
    with Stop(drain_s=60, ends_in_s=300) as stop, stop.interruptible():
        stop.move(6000)
        assert stop.available_s is not None
        assert stop.available_s > 5000
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 5000
        stop.move(None)
        assert stop.available_s is None
        stop.check()


def test_a_deferred_block_is_interrupted_at_its_end() -> None:
    whole = []

    def work() -> None:
        with stop.interruptible():
            with stop.deferred():
                send()
                send()
                whole.append(True)
            pytest.fail("not interrupted")

    with Stop(drain_s=60) as stop:
        with pytest.raises(Cancelled):
            work()
        assert whole


def test_without_a_limit_any_job_fits() -> None:
    with Stop(drain_s=60) as stop:
        assert stop.available_s is None


def test_no_work_begins_after_the_end() -> None:
    with Stop(drain_s=60, ends_in_s=0) as stop, pytest.raises(Cancelled), stop.interruptible():
        pytest.fail("the work began")


def test_a_signal_ends_a_wait_once() -> None:
    with Stop(drain_s=60) as stop:
        send()
        started_at = time.monotonic()
        stop.wait(30)
        assert time.monotonic() - started_at < 20
        stop.wait(0.2)
        assert time.monotonic() - started_at >= 0.2


def test_handlers_are_restored() -> None:
    former = signal.getsignal(signal.SIGTERM)
    with Stop(drain_s=60):
        assert signal.getsignal(signal.SIGTERM) != former
    assert signal.getsignal(signal.SIGTERM) == former
