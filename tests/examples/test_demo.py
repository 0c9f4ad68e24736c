"""The demonstration shows what it promises."""

from examples.demo import TUNE_S
from workers.device.throughput import THROUGHPUT_FROM_S


def test_its_searches_are_long_enough_to_measure_the_throughput() -> None:
    assert float(TUNE_S) >= THROUGHPUT_FROM_S
