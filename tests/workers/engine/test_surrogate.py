"""How far the model of a search believes what was measured."""

import numpy as np
import pytest

from hpcfair.measurement.ratio import FEWEST_ROUNDS
from hpcfair.measurement.types import Block, Interval
from workers.engine.strategies.surrogate import predict
from workers.engine.trials import Measurement, Trial
from workers.engine.types import BuildResult, Candidate

ONE = np.array([1.0, 0.0])
#: All candidates are exact.
SHARES = np.array([[1.0, 0.0, 0.0, 0.0]])
BARS = dict.fromkeys(("exact", "fp16", "bf16", "int8"), 1.0)


def measured(ratio: float, half_width: float = 0.01, **quality: bool) -> Trial:
    interval = Interval(ratio, ratio * (1 - half_width), ratio * (1 + half_width))
    rounds = (Block(0, (100,), (round(100 * ratio),)),) * FEWEST_ROUNDS
    found = Measurement(rounds, interval, 1, 1, "slower", quality)
    build = BuildResult("measured")
    return Trial(0, Candidate("fake", {}), "test", "measured", 1.0, build, measurement=found)


def expected(trial: Trial) -> tuple[float, float]:
    """Mean logarithm and gain expected of a candidate just like the trial's, after it."""
    found = predict([(trial, ONE, 0.0)], (ONE[None], np.zeros(1)), SHARES, BARS, None)  # type: ignore[arg-type]
    return float(found.mean[0]), float(found.gain[0])


def test_a_clean_measurement_is_believed() -> None:
    mean, gain = expected(measured(1.5))
    assert mean == pytest.approx(np.log(1.5), rel=0.02)
    assert gain < 1e-6


@pytest.mark.parametrize(
    "doubtful", [measured(1.5, 0.5), measured(1.5, disturbed=True)], ids=["wide", "disturbed"]
)
def test_a_wide_interval_and_company_leave_doubt(doubtful: Trial) -> None:
    """So that its neighbours are tried although it looked slow."""
    sure_mean, sure_gain = expected(measured(1.5))
    mean, gain = expected(doubtful)
    assert mean < sure_mean
    assert gain > 10 * max(sure_gain, 1e-9)
