"""Timing runs, and waiting for a process's threads."""

import gc
import threading
import time
from types import SimpleNamespace

import pytest

from hpcfair.measurement import timing


class Clock:
    """The module ``time`` of a process whose threads compute at first; time passes in sleep only.

    Args:
        busy_s: How long they compute.
    """

    def __init__(self, busy_s: float) -> None:
        self.busy_s = busy_s
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def process_time(self) -> float:
        return min(self.now_s, self.busy_s)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.mark.parametrize(
    ("busy_s", "waits_s"),
    [(0.0, 0.01), (0.3, 0.31), (3600.0, 1.0)],
    ids=["idle", "busy for a while", "busy for ever"],
)
def test_it_waits_as_long_as_threads_compute_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, busy_s: float, waits_s: float
) -> None:
    clock = Clock(busy_s)
    monkeypatch.setattr(timing, "time", clock)
    timing.wait_until_idle()
    assert clock.now_s == pytest.approx(waits_s, abs=0.011)


def test_what_another_thread_computes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, looks = threading.Event(), []

    def compute() -> None:
        while not stop.is_set():
            pass

    thread = threading.Thread(target=compute)

    def sleep(seconds: float) -> None:
        """Until the thread has computed for so long, however busy the machine is."""
        looks.append(seconds)
        if len(looks) == 4:
            stop.set()
            thread.join()
        end = time.process_time() + seconds
        while thread.is_alive() and time.process_time() < end:
            stop.wait(0.001)

    clocks = SimpleNamespace(monotonic=lambda: 0.0, process_time=time.process_time, sleep=sleep)
    monkeypatch.setattr(timing, "time", clocks)
    thread.start()
    try:
        timing.wait_until_idle()
        assert len(looks) == 4
    finally:
        stop.set()
        thread.join()


def test_only_runs_after_the_warm_up_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    def now() -> int:
        log.append("clock")
        return len(log)

    monkeypatch.setattr(timing.time, "perf_counter_ns", now)
    found = timing.time_runs(lambda: log.append("run"), runs=2, warmup=1)
    assert log == ["run", *["clock", "run", "clock"] * 2]
    assert found.samples_ns == (2, 2)


def test_a_run_that_fails_leaves_the_collector_on() -> None:
    def fail() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        timing.time_runs(fail, runs=1, warmup=0)
    assert gc.isenabled()
