"""What both sides must spell alike."""

import numpy as np
import pytest

from hpcfair import errors as theirs
from hpcfair import resolution
from hpcfair.bench import outputs, ratio
from hpcfair.digest import sha256_of_json
from hpcfair.record import record_id
from registry.errors import CODES
from registry.states import ToleranceClass
from tests.registry import shopfloor
from workers.engine import numerics, ratios
from workers.engine.types import Block, Interval, sha256_of


def test_client_and_hub_know_the_same_codes() -> None:
    assert set(theirs.CODES) == set(CODES)


def test_client_and_hub_know_the_same_tolerances_strictest_first() -> None:
    assert list(resolution.TOLERANCES) == [str(value) for value in ToleranceClass]


def test_client_and_workers_allow_the_same_deviation() -> None:
    allowed = {
        name: (limit.max_relative, limit.relative_l2) for name, limit in numerics.LIMITS.items()
    }

    assert allowed == outputs.LIMITS
    assert outputs.CONDITIONING == numerics.CONDITIONING


@pytest.mark.parametrize("processes", [1, 2, 3, 8])
def test_client_and_workers_draw_the_same_interval(processes: int) -> None:
    rng = np.random.default_rng(3)
    samples = rng.normal(1e6, 3e4, size=(12, 2, 30)).astype(int)
    pairs = [
        (n % processes, tuple(map(int, a)), tuple(map(int, b))) for n, (a, b) in enumerate(samples)
    ]

    ours = ratio.ratio_interval([ratio.Block(*pair) for pair in pairs])
    engine = ratios.ratio_interval([Block(*pair) for pair in pairs])

    assert (ours.value, ours.low, ours.high) == (engine.value, engine.low, engine.high)
    assert (ratio.METHOD, ratio.CONFIDENCE) == (ratios.METHOD, ratios.CONFIDENCE)


@pytest.mark.parametrize("value", [0.7, 0.95, 0.985, 1.0, 1.005, 1.02, 1.3])
@pytest.mark.parametrize("width", [0.001, 0.02, 0.2])
@pytest.mark.parametrize("rounds", [5, 6, 40])
def test_client_and_workers_say_the_same_of_an_interval(
    value: float, width: float, rounds: int
) -> None:
    low, high = value - width / 2, value + width / 2

    assert ratio.verdict(ratio.Interval(value, low, high), rounds, 0.03) == ratios.verdict(
        Interval(value, low, high), rounds, 0.03
    )


def test_client_and_hub_name_a_record_alike() -> None:
    assert record_id(shopfloor.EXAMPLE) == shopfloor.EXAMPLE["record_id"]


def test_client_and_workers_hash_json_alike() -> None:
    value = {"ü": [1, 2.5, 1e-7, None, True], "a": {"b": "\u2028"}}

    assert sha256_of_json(value) == sha256_of(value)
