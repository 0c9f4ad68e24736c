"""Lists of passes, changes to them, and balanced fractions of their combinations."""

import numpy as np
import pytest

from hpcfair.measurement.types import Interval
from workers.engine.passes.factors import Factor, combinations, drop, fraction, insert, swap
from workers.engine.passes.menu import Menu, Passes
from workers.engine.passes.objective import PassComparison

MENU = Menu(options={"x": 1}, default=("a", "b", "c"), full=("e", "a", "f", "b", "e", "c"))


def factors(count: int) -> list[Factor]:
    return [drop(MENU, str(n)) for n in range(count)]


def test_a_list_becomes_options() -> None:
    assert MENU.candidate(MENU.value(("a", "b"))) == {"x": 1, "passes": "a,b"}
    assert MENU.value(()) == "none"
    assert MENU.without(MENU.default, ["a", "c", "z"]) == ("b",)


def test_extras_go_where_the_full_list_has_them() -> None:
    assert MENU.extras() == ("e", "f")
    assert MENU.with_extra(("a", "b"), "f") == ("a", "f", "b")
    assert MENU.with_extra(("b",), "e") == ("e", "b")

    def behind_b(passes: object) -> bool:
        return list(passes).index("e") > list(passes).index("b")  # type: ignore[call-overload]

    strict = Menu({}, MENU.default, MENU.full, legal=behind_b)
    assert strict.with_extra(("a", "b", "c"), "e") == ("a", "b", "e", "c")


def test_changes_combine() -> None:
    passes: Passes = ("a", "b", "c")
    for factor in (swap("a", "c"), insert(MENU, "f"), drop(MENU, "b")):
        passes = factor.apply(passes)
    assert passes == ("c", "a", "f")
    assert swap("a", "c").name == "swap a and c"


@pytest.mark.parametrize("count", range(7))
def test_few_factors_come_in_all_combinations(count: int) -> None:
    found = combinations(factors(count), 64)
    assert len(found) == len(set(found)) == 2**count


@pytest.mark.parametrize("count", [5, 6, 7, 8])
def test_many_factors_come_in_a_balanced_fraction(count: int) -> None:
    every = factors(count)
    found = combinations(every, 20)
    assert len(found) < 2**count
    assert tuple(every) in found
    assert all((one,) in found for one in every)
    rows = sorted(fraction(count))
    assert len(rows) == 16
    signs = np.where(rows, 1, -1)
    # Main effects are orthogonal to each other and to every interaction of two.
    assert np.array_equal(signs.T @ signs, 16 * np.eye(count))
    for a in range(count):
        for b in range(a):
            assert not (signs.T @ (signs[:, a] * signs[:, b])).any()


def ratio(value: float, wide: float = 0.01) -> Interval:
    return Interval(value, value - wide, value + wide)


@pytest.mark.parametrize(
    ("compiling", "running", "cuts", "faster"),
    [
        (ratio(0.5), ratio(1.0), True, False),
        (ratio(0.5), ratio(1.0, 0.03), False, False),
        (ratio(0.5), ratio(1.05), False, False),
        (ratio(0.995), ratio(1.0), False, False),
        (ratio(1.5), ratio(0.9), False, True),
        (ratio(0.5), ratio(0.9), True, True),
        (None, None, False, False),
    ],
)
def test_each_objective_needs_an_interval_below_one(
    compiling: Interval | None, running: Interval | None, *, cuts: bool, faster: bool
) -> None:
    found = PassComparison("measured", compile=compiling, latency=running)
    assert (found.cuts_compile, found.cuts_latency) == (cuts, faster)
    assert found.score("compile") == (compiling.value if cuts and compiling else 1.0)
    assert found.score("latency") == (running.value if faster and running else 1.0)
