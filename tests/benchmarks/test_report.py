"""Figures mean what the README says, and come out as one line programs can read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.report import Figure, counted, environment, ratio, report, spread
from tests.programs import needs

TIMES = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30)


@given(times=TIMES, factor=st.floats(0.01, 100))
def test_a_constant_ratio_has_no_spread_however_the_times_vary(
    times: list[float], factor: float
) -> None:
    figure = ratio([time * factor for time in times], times)
    assert [figure.value, figure.low, figure.high] == pytest.approx([factor] * 3)


@given(samples=TIMES)
def test_a_spread_holds_its_value_within_the_samples(samples: list[float]) -> None:
    figure = spread(samples, "ms")
    slack = 1e-9 * max(samples)
    assert min(samples) - slack <= figure.low <= figure.high <= max(samples) + slack
    assert figure.low - slack <= figure.value <= figure.high + slack
    assert figure == spread(samples, "ms")


def test_ratios_are_of_neighbours() -> None:
    # Ours is twice as fast in each round, though the machine slowed down tenfold.
    assert ratio([2.0, 20.0, 200.0], [1.0, 10.0, 100.0]).value == 2.0


def test_a_high_percentile_is_not_the_median() -> None:
    samples = [1.0] * 90 + [100.0] * 10
    assert spread(samples, "ms").value == 1.0
    assert spread(samples, "ms", percentile=95).value == 100.0


def test_a_wider_range_comes_of_noisier_samples() -> None:
    calm, noisy = spread([9, 10, 11] * 5, "s"), spread([1, 10, 40] * 5, "s")
    assert noisy.high - noisy.low > calm.high - calm.low


def test_no_samples_are_no_figure() -> None:
    with pytest.raises(ValueError, match="no samples"):
        spread([], "ms")
    with pytest.raises(ValueError, match="paired"):
        ratio([1.0], [1.0, 2.0])


@needs("git")
def test_the_last_line_is_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    figures = {"speed": Figure(1.0, 0.9, 1.1, "ratio"), "kills": counted(3, "kills")}
    report("toy", figures, baseline="none", environment=environment("numpy", rounds=2))
    out, err = capsys.readouterr()
    document = json.loads(out.splitlines()[-1])
    assert set(document) == {"bench", "figures", "baseline", "environment"}
    assert document["figures"]["speed"] == {
        "value": 1.0, "low": 0.9, "high": 1.1, "unit": "ratio",
    }  # fmt: skip
    assert document["environment"]["rounds"] == 2
    assert document["environment"]["versions"]["numpy"][0].isdigit()
    assert "speed" in err
