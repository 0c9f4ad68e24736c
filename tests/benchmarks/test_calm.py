"""What was disturbed is measured again, whatever was measured."""

from types import SimpleNamespace
from typing import cast

import pytest

from benchmarks import calm
from benchmarks.calm import TAKES, undisturbed, wait
from workers.engine.confirmation import ConfirmedResult


def _confirmed_result(disturbed: int, rounds: int = 10) -> ConfirmedResult:
    quality = {"contended_rounds": list(range(disturbed))}
    measurement = SimpleNamespace(quality=quality, blocks=[None] * rounds)
    return cast("ConfirmedResult", SimpleNamespace(measurement=measurement))


def test_a_disturbed_measurement_is_taken_again_until_one_is_not() -> None:
    takes = [_confirmed_result(9), _confirmed_result(4), _confirmed_result(3), _confirmed_result(0)]
    assert undisturbed(iter(takes).__next__) is takes[2]


def test_on_a_machine_that_never_rests_the_last_take_stands() -> None:
    takes = [_confirmed_result(10) for _ in range(TAKES + 1)]
    assert undisturbed(iter(takes).__next__) is takes[TAKES - 1]


def test_so_many_probes_in_a_row_must_find_the_machine_quiet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calm, "PATIENCE_S", 60.0)
    monkeypatch.setattr(calm, "_PAUSE_S", 0.0)
    shares = iter([0.0, 0.0, 0.5, 0.01, 0.02, 0.03, 0.9])
    monkeypatch.setattr(calm, "taken_by_others", lambda: next(shares))
    wait(probes=3)
    assert next(shares) == 0.9
