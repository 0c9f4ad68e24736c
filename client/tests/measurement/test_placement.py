"""The thread that calls a runtime is kept off the processors of its pinned workers."""

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hpcfair.measurement import placement
from hpcfair.measurement.placement import CallerPlacement, processors_in, remaining_processors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="affinity is Linux's")

PINNING = SimpleNamespace(pins_workers=True)


class Machine:
    """Threads and their affinities, in place of the kernel's.

    Attributes:
        threads: Allowed processors by thread; 1 is the calling thread.
        siblings: Hardware threads of each core that has several.
        offline: Processors that may not be set.
        changes: Affinities that the calling thread was given, in order.
    """

    def __init__(self, folder: Path, *own: int) -> None:
        self.folder = folder
        self.threads = {1: set(own)}
        self.offline: set[int] = set()
        self.changes: list[set[int]] = []
        (folder / "task").mkdir()
        self.add(1, *own)

    def add(self, thread: int, *allowed: int) -> None:
        self.threads[thread] = set(allowed)
        (self.folder / f"task/{thread}").mkdir()

    def core(self, *processors: int) -> None:
        for processor in processors:
            topology = self.folder / f"cpu{processor}/topology"
            topology.mkdir(parents=True)
            text = ",".join(map(str, processors))
            (topology / "thread_siblings_list").write_text(f"{text}\n")

    def get(self, thread: int) -> set[int]:
        if thread and thread not in self.threads:
            raise ProcessLookupError
        return set(self.threads[thread or 1])

    def set(self, thread: int, allowed: set[int]) -> None:
        assert thread == 0
        if allowed <= self.offline:
            raise OSError(22, "Invalid argument")
        self.threads[1] = set(allowed)
        self.changes.append(set(allowed))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine(tmp_path, 0, 1, 2, 3)
    monkeypatch.setattr(os, "sched_getaffinity", made.get)
    monkeypatch.setattr(os, "sched_setaffinity", made.set)
    monkeypatch.setattr(placement, "_TASKS", tmp_path / "task")
    monkeypatch.setattr(placement, "_PROCESSORS", tmp_path)
    yield made
    assert not placement._TURN.locked()


def used(runtime: object, times: int = 2, **options: Any) -> list[bool]:
    """Whether each of several uses was placed."""
    place, active = CallerPlacement(runtime, **options), []
    for _ in range(times):
        with place:
            active.append(place.is_active)
        assert place.is_active == active[-1]
    return active


@pytest.mark.parametrize(
    ("text", "processors"),
    [("0-1", {0, 1}), ("3", {3}), ("0-2,8,10-11\n", {0, 1, 2, 8, 10, 11}), ("", set())],
)
def test_processors_are_read_as_the_kernel_lists_them(text: str, processors: set[int]) -> None:
    assert processors_in(text) == processors


def test_the_caller_is_kept_off_pinned_workers_from_the_second_use(machine: Machine) -> None:
    for worker in (1, 2, 3):
        machine.add(10 + worker, worker)
    machine.add(20, 0, 1, 2, 3)
    assert used(PINNING, 3) == [False, True, True]
    assert machine.changes == [{0}, {0, 1, 2, 3}] * 2


def test_a_runtime_that_states_nothing_is_left_alone(machine: Machine) -> None:
    machine.add(2, 1)
    assert used(SimpleNamespace(pins_workers=False)) == [False, False]
    assert used(object()) == [False, False]
    assert not machine.changes


def test_hardware_threads_of_a_pinned_core_are_left_as_well(machine: Machine) -> None:
    machine.core(0, 2)
    machine.core(1, 3)
    machine.add(2, 1)
    assert remaining_processors() == {0, 2}
    machine.add(3, 0)
    assert remaining_processors() == {2, 3}


def test_pinning_to_whole_cores_leaves_a_whole_core(machine: Machine) -> None:
    machine.core(0, 2)
    machine.core(1, 3)
    machine.add(2, 1, 3)
    assert used(PINNING) == [False, True]
    assert machine.changes[0] == {0, 2}


@pytest.mark.parametrize("own", [{0}, {1}, {0, 1}])
def test_nothing_is_placed_where_no_processor_remains(machine: Machine, own: set[int]) -> None:
    machine.threads[1] = own
    for worker in own:
        machine.add(10 + worker, worker)
    assert used(PINNING) == [False, False]
    assert machine.threads[1] == own


def test_workers_outside_of_the_processes_processors_take_nothing_from_it(machine: Machine) -> None:
    """``taskset`` does not hold ONNX Runtime's workers, which are pinned to any processor."""
    machine.threads[1] = {0, 2}
    for worker in (1, 2, 3):
        machine.add(10 + worker, worker)
    assert used(PINNING) == [False, True]
    assert machine.changes == [{0}, {0, 2}]


def test_a_mask_that_was_changed_meanwhile_is_respected_and_restored(machine: Machine) -> None:
    machine.add(2, 3)
    place = CallerPlacement(PINNING)
    with place:
        pass
    machine.threads[1] = {2, 3}
    with place:
        assert machine.threads[1] == {2}
    assert machine.threads[1] == {2, 3}
    machine.threads[1] = {3}
    with place:
        assert not place.is_active
    assert machine.threads[1] == {3}


def test_a_worker_that_is_pinned_late_is_seen(machine: Machine) -> None:
    machine.add(2, 0, 1, 2, 3)
    place = CallerPlacement(PINNING)
    with place:
        pass
    with place:
        assert not place.is_active
        machine.threads[2] = {3}
    with place:
        assert machine.threads[1] == {0, 1, 2}


def test_the_affinities_are_read_a_few_times_only(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings: list[int] = []
    read = remaining_processors
    monkeypatch.setattr(placement, "remaining_processors", lambda: readings.append(1) or read())
    assert used(PINNING, 20) == [False] * 20
    assert len(readings) == placement._MOST_READINGS


def test_what_remains_to_a_restricted_thread_says_nothing_of_a_free_one(machine: Machine) -> None:
    machine.add(2, 3)
    machine.threads[1] = {3}
    place = CallerPlacement(PINNING)
    with place:
        pass
    machine.threads[1] = {0, 1, 2, 3}
    with place:
        assert not place.is_active
    with place:
        assert machine.threads[1] == {0, 1, 2}


def test_a_thread_that_was_restricted_can_be_left_alone(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(2, 3)
    monkeypatch.setattr(placement, "processors_of_machine", lambda: {0, 1, 2, 3})
    assert used(PINNING, only_unrestricted=True) == [False, True]
    machine.threads[1] = {0, 1, 3}
    assert used(PINNING, only_unrestricted=True) == [False, False]
    assert used(PINNING) == [False, True]
    monkeypatch.setattr(placement, "processors_of_machine", set)
    assert used(PINNING, only_unrestricted=True) == [False, False]


def test_the_mask_is_restored_after_a_failed_run(machine: Machine) -> None:
    machine.add(2, 1)
    place = CallerPlacement(PINNING)
    with place:
        pass
    with pytest.raises(RuntimeError), place:
        raise RuntimeError
    assert machine.threads[1] == {0, 1, 2, 3}


def test_a_refused_placement_is_none(machine: Machine) -> None:
    machine.add(2, 1, 2, 3)
    machine.offline = {0}
    assert used(PINNING) == [False, False]


def test_a_thread_that_ends_meanwhile_is_ignored(machine: Machine) -> None:
    machine.add(2, 1)
    machine.add(3, 2)
    del machine.threads[3]
    assert remaining_processors() == {0, 2, 3}


def test_short_runs_are_not_worth_it(machine: Machine) -> None:
    machine.add(2, 1)
    assert used(PINNING, 4, shortest_ns=10**12) == [False] * 4


def test_only_one_thread_of_a_process_is_placed(machine: Machine) -> None:
    machine.add(2, 1)
    one, other = CallerPlacement(PINNING), CallerPlacement(PINNING)
    for place in (one, other):
        with place:
            pass
    with one, ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: other.__enter__().is_active).result() is False
        other.__exit__()
    with other:
        assert other.is_active


def test_the_kernel_places_the_calling_thread_alone() -> None:
    """Threads that exist keep their affinity, and later ones do not inherit the placement."""
    own = os.sched_getaffinity(0)
    if len(own) < 2:
        pytest.skip("one processor")
    pinned, ended = max(own), threading.Event()
    ids: list[int] = []

    def wait(pin: bool) -> None:  # noqa: FBT001  an argument of a thread
        if pin:
            os.sched_setaffinity(0, {pinned})
        ids.append(threading.get_native_id())
        ended.wait()

    threads = [threading.Thread(target=wait, args=(pin,)) for pin in (True, False)]
    for thread in threads:
        thread.start()
    while len(ids) < 2:
        pass
    place = CallerPlacement(PINNING)
    with place:
        pass
    with place:
        inside = os.sched_getaffinity(0)
        others = {frozenset(os.sched_getaffinity(each)) for each in ids}
    ended.set()
    for thread in threads:
        thread.join()
    assert inside
    assert inside < own
    assert pinned not in inside
    assert others == {frozenset({pinned}), frozenset(own)}
    assert os.sched_getaffinity(0) == own
