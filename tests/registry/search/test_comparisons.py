"""Comparisons of numbers: read exactly, and stored as integers that sort as the numbers do."""

import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.search.comparisons import LARGEST, Bound, encode, limits, parse
from registry.search.vocabulary import FILTERS, NUMBERS, OPERATORS, Encoding, FilterKind

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
floats = st.floats(0, 1e300, allow_subnormal=True)
operators = st.sampled_from(OPERATORS)


def within(bounds: list[Bound], value: float) -> bool:
    low, high = limits(bounds)
    return low <= encode(value) <= high


@given(st.lists(floats, min_size=2))
def test_codes_sort_as_the_numbers(values: list[float]) -> None:
    assert sorted(values) == sorted(values, key=encode)
    assert all(0 <= encode(value) <= LARGEST for value in values)


@given(floats, operators, floats)
def test_floats_are_compared_exactly(value: float, sign: str, number: float) -> None:
    for shift in (Fraction(0), Fraction(1, 10**30), Fraction(-1, 10**30)):
        bound = Fraction(number) + shift
        if bound >= 0:
            expected = COMPARE[sign](Fraction(value), bound)
            assert within([Bound("accuracy", sign, bound)], value) is expected


@given(st.integers(0, 2**62), operators, st.fractions(0, 2**62, max_denominator=1000))
def test_integers_are_compared_exactly(value: int, sign: str, number: Fraction) -> None:
    assert within([Bound("latency", sign, number)], value) is COMPARE[sign](value, number)


@given(
    st.floats(1e-9, 1.0),
    operators,
    st.fractions(Fraction(1, 100), 10**9, max_denominator=1000),
)
def test_gains_are_compared_by_their_ratios(ratio: float, sign: str, number: Fraction) -> None:
    expected = COMPARE[sign](1 / Fraction(ratio), number)
    assert within([Bound("gain", sign, number)], ratio) is expected


@given(st.floats(0.001, 1000))
def test_a_number_is_within_its_own_bounds(value: float) -> None:
    own = Fraction(value)
    assert within([Bound("fair", ">=", own), Bound("fair", "<=", own)], value)
    assert not within([Bound("fair", ">", own)], value)
    low, high = limits([Bound("fair", "<", own), Bound("fair", ">", own)])
    assert low > high


@pytest.mark.parametrize(
    ("name", "text", "sign", "number"),
    [
        ("latency", "<5ms", "<", 5_000_000),
        ("latency", "<=0.3µs", "<=", 300),
        ("latency", ">1.5 us", ">", 1500),
        ("latency", "<.1S", "<", 100_000_000),
        ("latency", "<8300ns", "<", 8300),
        ("gain", ">2", ">", 2),
        ("gain", ">=1.5x", ">=", Fraction(3, 2)),
        ("accuracy", ">0.95", ">", Fraction(19, 20)),
        ("accuracy", ">95%", ">", Fraction(19, 20)),
        ("parameters", "<10M", "<", 10_000_000),
        ("parameters", "<1.5b", "<", 1_500_000_000),
        ("parameters", ">1000", ">", 1000),
        ("size", "<100MB", "<", 100_000_000),
        ("size", "<=1GiB", "<=", 2**30),
        ("size", ">10", ">", 10),
        ("fair", ">80", ">", 80),
        ("fair", ">=80%", ">=", 80),
    ],
)
def test_units_are_read(name: str, text: str, sign: str, number: Fraction) -> None:
    assert parse(name, text) == Bound(name, sign, Fraction(number))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("latency", "<5", "'5' does not say the unit of latency. Write it like latency:<5ms"),
        ("latency", "<5m", "'m' is no unit of latency"),
        ("latency", "5ms", "latency needs a comparison, not '5ms'"),
        ("latency", "", "latency needs a comparison"),
        ("latency", "<-5ms", "needs a comparison"),
        ("latency", "<5e3ns", "needs a comparison"),
        ("latency", f"<{'9' * 19}ns", "needs a comparison"),
        ("gain", ">0", "larger than 0"),
        ("gain", ">2ms", "'ms' is no unit of gain"),
        ("size", "=5kB", "operators are <=, >=, <, >"),
        ("size", "<5kg", "units are b, kb, mb"),
        ("fair", "high", "fair needs a comparison, not 'high'. Write it like fair:>80"),
    ],
)
def test_what_is_no_comparison_is_refused_with_an_example(name: str, text: str, says: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse(name, text)
    assert refusal.value.code == "invalid_query"
    assert says in str(refusal.value)


@given(st.sampled_from(sorted(NUMBERS)), st.text())
def test_any_text_is_read_or_refused(name: str, text: str) -> None:
    try:
        low, high = limits([parse(name, text)])
    except Invalid as refusal:
        assert refusal.code == "invalid_query"  # noqa: PT017 - it may also be read
    else:
        assert low >= 0
        assert high <= LARGEST


def test_each_number_is_a_filter_with_an_example_that_can_be_read() -> None:
    compared = {one.name for one in FILTERS.values() if one.kind == FilterKind.NUMBER}
    assert compared == set(NUMBERS)
    for name, number in NUMBERS.items():
        assert parse(name, FILTERS[name].example).name == name
        assert number.encoding in Encoding
