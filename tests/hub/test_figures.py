"""Values of records as people read them."""

import pytest

from hub.templatetags.figures import deviation, entry, plain, verdict


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"baseline": True, "candidate": False}, "baseline yes, candidate no"),
        ([1, 0.123456789], "1, 0.123457"),
        ("ABBA", "ABBA"),
    ],
)
def test_a_json_value_is_one_line(value: object, text: str) -> None:
    assert plain(value) == text


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (
            {"max_absolute": 14.0, "max_relative": 1.2e-4},
            "14, at most 0.012 % of the largest output",
        ),
        ({"max_absolute": 0.0, "max_relative": 0.0}, "0, at most 0 % of the largest output"),
        ({"max_relative": 3.4e-8}, "3.4e-08 of the largest output"),
        ({"max_relative": 0.0141}, "1.4 % of the largest output"),
        ({}, ""),
    ],
)
def test_an_error_of_outputs_comes_with_its_scale(figures: dict[str, float], text: str) -> None:
    assert deviation(figures) == text


def test_a_records_absolute_error_comes_with_its_scale_and_other_values_as_they_are() -> None:
    group = {"max_absolute": 14.0, "max_relative": 1.2e-4, "cosine": 0.5}
    assert entry(group, "max_absolute").endswith("of the largest output")
    assert entry(group, "cosine") == "0.5"


def test_a_verdict_is_said_in_words() -> None:
    words = [verdict(name) for name in ("faster", "same", "unstable")]
    assert words == ["faster", "the same within noise", "inconclusive"]
