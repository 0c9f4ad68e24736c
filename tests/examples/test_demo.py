"""The demonstration shows what it promises."""

import pytest

from examples.demo import SETTINGS, TUNE_S, cells
from hpcfair import Build
from hub.settings.env import variables
from workers.device.queries import QUERIES_FROM_S


def test_its_searches_are_long_enough_to_measure_the_throughput() -> None:
    assert float(TUNE_S) >= QUERIES_FROM_S


def test_the_hub_reads_all_of_its_settings() -> None:
    assert set(SETTINGS) <= set(variables)


@pytest.mark.parametrize(
    ("p50_ns", "ratio", "times"),
    [
        (2_600_000, 0.55, ("4.727 ms", "2.600 ms")),
        (9_400_000, 1.0, ("9.400 ms", "9.400 ms")),
    ],
)
def test_a_line_shows_the_default_in_the_run_of_the_ratio(
    p50_ns: int, ratio: float, times: tuple[str, str]
) -> None:
    build = Build(
        uuid="1",
        target="x86-64-avx2",
        tolerance="bf16",
        backend="openvino",
        runtime="openvino",
        entry_point="model.xml",
        is_baseline=ratio == 1.0,
        candidate={"options": {"precision": "bfloat16"}},
        p50_ns=p50_ns,
        ratio=ratio,
    )
    _, _, *shown = cells(build)
    assert tuple(shown[:2]) == times
