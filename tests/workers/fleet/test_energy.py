"""Counters that a target brings, on a recorded management library: few machines have a GPU."""

from typing import Any

import pytest

from hpcfair import _nvml
from workers.engine.types import TargetSpec
from workers.fleet.energy import GpuCounter, counters_of


class Library:
    """One GPU that has used ``millijoules``; ``None`` where it does not count."""

    def __init__(self, millijoules: int | None) -> None:
        self._millijoules = millijoules

    def nvmlInit_v2(self) -> int:  # noqa: N802  the library's names
        return 0

    def nvmlShutdown(self) -> int:  # noqa: N802
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, _: Any, handle: Any) -> int:  # noqa: N802
        handle._obj.value = 1
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, _: Any, used: Any) -> int:  # noqa: N802
        if self._millijoules is None:
            return 3
        used._obj.value = self._millijoules
        return 0


def target(*features: str) -> TargetSpec:
    return TargetSpec("some", "x86-64", frozenset(features), 2, 1 << 30, {})


def gpus_of(monkeypatch: pytest.MonkeyPatch, features: str, millijoules: int | None) -> list[Any]:
    monkeypatch.setattr(_nvml.ctypes, "CDLL", lambda _: Library(millijoules))
    return [each for each in counters_of(target(features)) if isinstance(each, GpuCounter)]


def test_a_gpu_counts_for_its_own_target_in_microjoules(monkeypatch: pytest.MonkeyPatch) -> None:
    (gpu,) = gpus_of(monkeypatch, "cuda", 123)
    assert gpu.read() == 123_000
    assert gpu.source == "nvml-total-energy"


def test_it_does_not_count_for_the_processor_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpus_of(monkeypatch, "avx2", 123) == []


def test_one_that_does_not_count_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpus_of(monkeypatch, "cuda", None) == []


def test_a_missing_driver_is_no_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(_nvml.ctypes, "CDLL", missing)
    assert not [c for c in counters_of(target("cuda")) if isinstance(c, GpuCounter)]
