"""Energy counters of a target. Few machines have a GPU, so the driver's answers are recorded."""

from collections.abc import Callable

import pytest

from hpcfair import nvidia
from workers.engine.types import TargetSpec
from workers.fleet.energy import GpuCounter, counters_of


def target(*features: str) -> TargetSpec:
    return TargetSpec("some", "x86-64", frozenset(features), 2, 1 << 30, {})


def gpus_of(
    monkeypatch: pytest.MonkeyPatch, features: str, read: Callable[[int], int]
) -> list[GpuCounter]:
    """The GPU counters of a target, where ``read`` answers for the driver."""
    monkeypatch.setattr(nvidia, "energy_mj", read)
    return [each for each in counters_of(target(features)) if isinstance(each, GpuCounter)]


def _unreadable(index: int) -> int:
    raise OSError(f"The energy counter of GPU {index} cannot be read")


def test_a_gpu_counts_for_its_own_target_in_microjoules(monkeypatch: pytest.MonkeyPatch) -> None:
    (gpu,) = gpus_of(monkeypatch, "cuda", lambda _: 123)
    assert gpu.read() == 123_000
    assert gpu.source == "nvml-total-energy"


def test_it_does_not_count_for_the_processor_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpus_of(monkeypatch, "avx2", lambda _: 123) == []


def test_a_counter_that_cannot_be_read_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpus_of(monkeypatch, "cuda", _unreadable) == []
