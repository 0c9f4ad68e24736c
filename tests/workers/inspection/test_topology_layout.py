"""The layered drawing: forward, without overlaps, deterministic, and quick."""

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from workers.inspection.topology.layout import (
    MAX_ORDERED,
    PITCH_X,
    PITCH_Y,
    isotonic,
    lay_out,
    topological,
)

_COUNTS = st.integers(1, 25)


@st.composite
def graphs(draw: st.DrawFn, *, cyclic: bool = False) -> tuple[int, list[tuple[int, int]]]:
    """A number of nodes and edges, forward unless ``cyclic``."""
    count = draw(_COUNTS)
    ends = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(ends, ends), max_size=60))
    return count, edges if cyclic else [(min(e), max(e)) for e in edges if e[0] != e[1]]


@given(graphs())
def test_every_edge_goes_down(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    layout = lay_out(count, edges)
    assert layout.backward == 0
    for source, target in edges:
        assert layout.y[source] + PITCH_Y <= layout.y[target]


@given(graphs(cyclic=True))
def test_nodes_of_a_layer_do_not_overlap(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    layout = lay_out(count, edges)
    layers: dict[int, list[int]] = {}
    for x, y in zip(layout.x, layout.y, strict=True):
        layers.setdefault(y, []).append(x)
    for xs in layers.values():
        # Places are rounded to whole pixels.
        assert all(right - left >= PITCH_X - 1 for left, right in pairwise(sorted(xs)))
    assert min(layout.x) > 0
    assert max(layout.x) < layout.width
    assert min(layout.y) > 0
    assert max(layout.y) < layout.height


@given(graphs(cyclic=True))
def test_equal_graphs_are_drawn_alike(graph: tuple[int, list[tuple[int, int]]]) -> None:
    assert lay_out(*graph) == lay_out(*graph)


@given(graphs(cyclic=True))
def test_all_edges_but_those_of_cycles_go_down(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    layout = lay_out(count, edges)
    up = {(s, t) for s, t in edges if s != t and layout.ranks[s] >= layout.ranks[t]}
    assert len(up) <= layout.backward


@given(graphs(cyclic=True))
def test_topological_order_has_every_node_once(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in set(edges):
        before[target].append(source)
        after[source].append(target)
    assert sorted(topological(before, after)) == list(range(count))


@given(st.lists(st.floats(-1e6, 1e6), max_size=30))
def test_isotonic_sequences_do_not_decrease_and_keep_the_mean(values: list[float]) -> None:
    fitted = isotonic(values)
    assert len(fitted) == len(values)
    assert all(left <= right for left, right in pairwise(fitted))
    assert abs(sum(fitted) - sum(values)) <= 1e-6 * (1 + sum(map(abs, values)))


def test_a_chain_is_a_straight_line_and_a_skip_stays_beside_it() -> None:
    layout = lay_out(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert layout.ranks == [0, 1, 2, 3]
    assert max(layout.x) - min(layout.x) < PITCH_X


def test_a_late_constant_stands_beside_its_reader() -> None:
    chain = [(n, n + 1) for n in range(9)]
    layout = lay_out(11, [*chain, (10, 9)])
    assert layout.ranks[10] == 8


def test_large_networks_are_drawn_in_bounded_time_and_say_so() -> None:
    count = MAX_ORDERED + 1
    edges = [(n, n + 1) for n in range(count - 1)] + [(n, n + 7) for n in range(0, count - 7, 3)]
    begun = time.process_time()
    layout = lay_out(count, edges)
    assert layout.method == "layers"
    # Some hundred milliseconds; a quadratic method would take minutes.
    assert time.process_time() - begun < 20
    assert lay_out(10, []).method == "layered"


def test_an_empty_network_has_no_size() -> None:
    assert lay_out(0, []).height == 0
