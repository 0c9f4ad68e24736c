"""Several inspections at a time within memory; long ones make room for short ones."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from registry.states import JobKind, JobState
from registry.tables import Job, User
from tests.factories import make_mlmodel, readme, tiny_onnx
from workers.engine.errors import CandidateFailed
from workers.jobs import inspect, run, slots
from workers.jobs.slots import Slot, inspection_slot, slot_count

_GIB = 2**30
_ANY, _SHORT = Slot(is_last=False), Slot(is_last=True)


@pytest.fixture
def hold(data_dir: Path) -> Iterator[Any]:
    """Takes a slot for the rest of the test."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(inspection_slot())


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch, settings: Any) -> dict[str, int]:
    """Bytes of this machine; an inspection may take eight GiB."""
    settings.CHILD_MEMORY_BYTES = 8 * _GIB
    sizes = {"total": 24 * _GIB, "available": 24 * _GIB}
    monkeypatch.setattr(slots, "_total_bytes", lambda: sizes["total"])
    monkeypatch.setattr(slots, "_available_bytes", lambda: sizes["available"])
    monkeypatch.setattr(slots.os, "cpu_count", lambda: 8)
    return sizes


def test_slots_are_bounded_by_memory_and_processors(
    memory: dict[str, int], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    assert slot_count() == 3
    monkeypatch.setattr(slots.os, "cpu_count", lambda: 2)
    assert slot_count() == 2
    memory["total"] = 4 * _GIB
    assert slot_count() == 1
    settings.INSPECT_SLOTS = 5
    assert slot_count() == 5


def test_the_last_free_slot_is_for_short_inspections(memory: dict[str, int], hold: Any) -> None:
    assert [hold() for _ in range(4)] == [_ANY, _ANY, _SHORT, None]


def test_one_slot_takes_all(memory: dict[str, int], hold: Any) -> None:
    memory["total"] = 0
    assert [hold(), hold()] == [_ANY, None]


def test_a_further_inspection_needs_free_memory(memory: dict[str, int], hold: Any) -> None:
    memory["available"] = _GIB
    assert [hold(), hold()] == [_ANY, None]
    memory["available"] = 9 * _GIB
    assert hold() == _ANY


def test_a_slot_is_free_again_after_its_use(memory: dict[str, int], data_dir: Path) -> None:
    for _ in range(5):
        with inspection_slot() as slot:
            assert slot == _ANY


@pytest.mark.django_db
def test_a_long_inspection_yields_once_then_has_its_time(
    alice: User, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float] = []

    def too_long(*_: object, **arguments: Any) -> None:
        limits.append(arguments["limits"].wall_s)
        raise CandidateFailed("timeout", "longer than allowed", "wall-clock")

    monkeypatch.setattr(inspect, "call", too_long)
    make_mlmodel("alice/net", actor=alice, files={"README.md": readme(), "model.onnx": tiny_onnx()})
    assert run.drain_inspections() == 2
    assert limits == [30.0, 300.0]
    job = Job.objects.get(kind=JobKind.INSPECT)
    assert (job.state, job.yields, job.attempt) == (JobState.FAILED, 1, 1)
    assert job.estimate_s == 300.0
