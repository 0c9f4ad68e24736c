"""Figures of a free and a placed calling thread."""

import os
from pathlib import Path

import pytest

from benchmarks.placement import figures, measure, process_pairs
from examples.models.catalogue import make
from tests.programs import needs


def test_slow_stretches_show_in_the_gain_and_in_the_share() -> None:
    quiet = [(8.0, 8.0)] * 3
    slow = [(14.0, 8.0), (14.0, 8.0), (8.0, 8.0)]
    actual = figures([quiet, slow])
    assert actual["free_ms"].value == actual["placed_ms"].value == 8.0
    assert actual["slow_free"].value == pytest.approx(1 / 3)
    assert (actual["slow_free"].low, actual["slow_free"].high) == (0.0, pytest.approx(2 / 3))
    assert actual["slow_placed"].value == 0
    assert actual["placed_vs_free"].value < 0.9
    assert actual["blocks"].value == 6


@needs("processors")
def test_blocks_take_turns_in_this_and_in_fresh_processes(tmp_path: Path) -> None:
    own = os.sched_getaffinity(0)
    model = make("digits_mlp", tmp_path / "model")
    for pairs in (measure(model, blocks=3), process_pairs(model, blocks=3)):
        assert len(pairs) == 3
        assert all(ms > 0 for pair in pairs for ms in pair)
    assert os.sched_getaffinity(0) == own
