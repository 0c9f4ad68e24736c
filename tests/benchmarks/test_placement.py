"""Figures of a free and a placed calling thread."""

import os
from pathlib import Path

import pytest

from benchmarks.placement import figures, measure, process_pair
from examples.models.catalogue import make
from tests.programs import needs


def test_slow_stretches_show_in_the_gain_and_in_the_share() -> None:
    quiet = ([8.0, 8.0, 8.0], [8.0, 8.0, 8.0])
    slow = ([14.0, 14.0, 8.0], [8.0, 8.0, 8.0])
    actual = figures([quiet, slow], suffix="_busy")
    assert actual["free_ms_busy"].high == 12
    assert actual["placed_ms_busy"].value == 8
    assert actual["slow_free_busy"].value == pytest.approx(1 / 3)
    assert (actual["slow_free_busy"].low, actual["slow_free_busy"].high) == (
        0.0,
        pytest.approx(2 / 3),
    )
    assert actual["slow_placed_busy"].value == 0
    assert actual["placed_vs_free_busy"].value < 0.9
    assert actual["processes_busy"].value == 4


@needs("processors")
def test_processes_are_free_and_placed(tmp_path: Path) -> None:
    own = os.sched_getaffinity(0)
    model = make("digits_mlp", tmp_path / "model")
    for blocks in (
        measure(model, 3, is_placed=True),
        measure(model, 3, is_placed=False),
        *process_pair(model, 3, placed_first=True),
    ):
        assert len(blocks) == 3
        assert all(ms > 0 for ms in blocks)
    assert os.sched_getaffinity(0) == own
