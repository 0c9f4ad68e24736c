from hypothesis import given
from hypothesis import strategies as st

from registry.fair.serialise import drop_empty


@given(st.sampled_from([None, "", (), [], {}]))
def test_what_says_nothing_is_left_out(nothing: object) -> None:
    assert drop_empty(said="yes", unsaid=nothing) == {"said": "yes"}


@given(st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(min_size=1)))
def test_numbers_and_truths_always_say_something(value: object) -> None:
    assert drop_empty(said=value) == {"said": value}
