"""Values of records as people read them."""

import pytest

from hub.templatetags.figures import plain


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
