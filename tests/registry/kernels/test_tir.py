"""Loops of a kernel are read from its script: extents, kinds, lines, trips, bytes."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.kernels.interval import evaluated
from registry.kernels.tir import MOST_CHARACTERS, KernelLoop, loops_of
from tests.registry.kernels.scripts import TIR


@pytest.fixture(scope="module")
def loops() -> dict[str, KernelLoop]:
    return {loop.name: loop for loop in loops_of(TIR)}


def test_loops_come_in_the_order_of_the_text_with_their_nesting(
    loops: dict[str, KernelLoop],
) -> None:
    assert list(loops) == ["i_0", "j_0", "i_1", "k", "j_1", "j"]
    assert [loop.number for loop in loops.values()] == list(range(6))
    assert [loop.parent for loop in loops.values()] == [None, 0, 1, 2, 3, 0]
    assert [loop.depth for loop in loops.values()] == [0, 1, 2, 3, 4, 1]
    assert [loop.extent for loop in loops.values()] == [8, 3, 8, 32, 16, 5]


def test_each_has_its_kind_its_lines_and_how_often_it_runs(loops: dict[str, KernelLoop]) -> None:
    kinds = ["parallel", "serial", "serial", "serial", "vectorised", "unrolled"]
    assert [loop.kind for loop in loops.values()] == kinds
    lines = TIR.splitlines()
    for name, loop in loops.items():
        assert name in lines[loop.line - 1]
        assert "for" in lines[loop.line - 1]
    # The loops of a grid share their line.
    assert loops["j_0"].line == loops["i_1"].line
    assert loops["i_0"].last_line == len(lines)
    assert loops["j_1"].trips == 8 * 3 * 8 * 32 * 16
    assert loops["i_0"].unroll == 16
    assert loops["k"].unroll is None


def test_a_loop_touches_the_regions_of_its_blocks_once(loops: dict[str, KernelLoop]) -> None:
    # One number each of a and c, one of b.
    assert loops["j_1"].footprint == 4 * (16 + 1 + 16)
    assert loops["k"].footprint == 4 * (16 + 32 + 32 * 16)
    # Eight rows of a and c, all of b.
    assert loops["j_0"].footprint == 4 * (8 * 48 + 8 * 32 + 32 * 48)
    assert loops["j"].footprint == 4 * 8 * 5


def test_an_extent_that_is_not_constant_is_not_known() -> None:
    text = TIR.replace("range(T.int64(32))", "range(n)")
    loops = {loop.name: loop for loop in loops_of(text)}
    assert loops["k"].extent is None
    assert loops["j_1"].trips is None
    assert loops["k"].footprint is None


def test_loops_of_a_gpu_are_bound_to_its_threads() -> None:
    bound = 'T.thread_binding(T.int64(4), thread="blockIdx.x")'
    text = f"def main():\n    for b in {bound}:\n        f(b)\n"
    (loop,) = loops_of(text)
    assert (loop.kind, loop.thread, loop.extent) == ("thread", "blockIdx.x", 4)


@pytest.mark.parametrize(
    "text", ["", "not a script (", "def main(:", "\0", "x" * (MOST_CHARACTERS + 1), "(" * 5000]
)
def test_what_cannot_be_read_has_no_loops(text: str) -> None:
    assert loops_of(text) == []


@given(
    st.integers(0, 9), st.integers(0, 9), st.integers(1, 7), st.integers(1, 7), st.integers(-3, 9)
)
def test_intervals_hold_every_value(i: int, j: int, divisor: int, factor: int, plus: int) -> None:
    text = f"(i * {factor} + j + {plus}) // {divisor} + (i + j * {factor}) % {divisor} - i"
    interval = evaluated(ast.parse(text, mode="eval").body, {"i": (0, 9), "j": (0, 9)})
    assert interval is not None
    assert interval[0] <= eval(text, {"i": i, "j": j}) <= interval[1]  # noqa: S307  from above


def test_what_is_not_bounded_has_no_interval() -> None:
    for text in ("i", "f(i)", "i // 0", "i % j", "a[0]", "'x'"):
        assert evaluated(ast.parse(text, mode="eval").body, {"j": (0, 3)}) is None
