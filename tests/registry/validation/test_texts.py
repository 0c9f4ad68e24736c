"""JSON that a database refuses is refused before it."""

from typing import Any

import pytest

from registry.errors import Invalid
from registry.validation.texts import check_json


@pytest.mark.parametrize(
    "value", ["\ud800", "a\0b", float("inf"), float("nan"), object(), {"\udfff": 1}]
)
def test_values_that_no_database_stores_are_refused(value: Any) -> None:
    with pytest.raises(Invalid):
        check_json({"value": value})


@pytest.mark.parametrize("value", ["é\n\t😀", "\\u0000", "\\ud800", 2**200, None])
def test_other_values_pass(value: Any) -> None:
    assert check_json({"value": value}) == {"value": value}
