"""Speed in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcfair.explain import gain_text
from hub.pages import speedwords


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1 / 2.08, "2.1 times as fast"),
        (0.8, "1.25 times as fast"),
        (1 / 1.04, "1.04 times as fast"),
        (1 / 12.34, "12 times as fast"),
        (1 / 123.4, "123 times as fast"),
        (1 / 1.999, "2 times as fast"),
        (1.0, "as fast as the default"),
        (1.25, "1.25 times as slow"),
    ],
)
def test_a_gain_is_a_factor(ratio: float, words: str) -> None:
    assert speedwords.speed(ratio) == words


@given(st.floats(0.01, 1e4))
def test_pages_and_the_client_state_the_same_factor(gain: float) -> None:
    """The web may not import the client's module, so that each has the rule."""
    assert speedwords.times(gain) == gain_text(gain)


@pytest.mark.parametrize(
    ("error", "words", "percent"),
    [
        (None, "", ""),
        (1.9e-7, "same answers to within 0.01 %", "< 0.01 %"),
        (0.0142, "answers differ by 1.4 %", "1.4 %"),
        (0.0005, "answers differ by 0.05 %", "0.05 %"),
    ],
)
def test_deviation_is_in_percent(error: float | None, words: str, percent: str) -> None:
    assert speedwords.deviation(error) == words
    assert speedwords.error_label(error) == percent


def test_accuracy_is_beside_that_of_the_reference() -> None:
    assert speedwords.accuracy(0.9861, 0.9861) == "accuracy 98.6 of 98.6 %"
    assert speedwords.accuracy(0.5, None) == "accuracy 50.0 %"
    assert speedwords.accuracy(None, 0.9) == ""


def test_a_bar_is_never_longer_than_the_default() -> None:
    assert speedwords.share(0.4807) == "48.1"
    assert speedwords.share(1.3) == "100.0"
