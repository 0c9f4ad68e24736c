"""The hierarchy for collapsing: by names, by structure, and bounded."""

from hypothesis import given
from hypothesis import strategies as st

from workers.inspection.topology.groups import MAX_MEMBERS, Hierarchy, hierarchy
from workers.inspection.topology.layout import topological

_OPERATORS = st.sampled_from(["Conv", "Relu", "Add", "MatMul"])


def neighbours(count: int, edges: list[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in dict.fromkeys(edges):
        before[target].append(source)
        after[source].append(target)
    return before, after


def group(names: list[str], operators: list[str], edges: list[tuple[int, int]]) -> Hierarchy:
    before, after = neighbours(len(names), edges)
    return hierarchy(names, operators, before, after, topological(before, after))


def chain(count: int) -> list[tuple[int, int]]:
    return [(n, n + 1) for n in range(count - 1)]


def members(tree: Hierarchy) -> dict[int, int]:
    """Nodes and groups directly in each group."""
    counts = dict.fromkeys(range(len(tree.names)), 0)
    for number in (*tree.group, *tree.parents[1:]):
        counts[number] += 1
    return counts


@given(
    st.lists(st.tuples(st.text("ab/.", max_size=12), _OPERATORS, st.integers(0, 5)), max_size=60)
)
def test_every_node_is_in_exactly_one_group(nodes: list[tuple[str, str, int]]) -> None:
    edges = [(max(0, n - back), n) for n, (_, _, back) in enumerate(nodes) if 0 < back <= n]
    tree = group([n[0] for n in nodes], [n[1] for n in nodes], edges)
    assert len(tree.group) == len(nodes)
    assert all(0 <= number < len(tree.names) for number in tree.group)
    assert tree.parents[0] == -1
    # Parents first: so there are no cycles, and everything is inside the network.
    assert all(0 <= parent < place for place, parent in enumerate(tree.parents) if place)
    counts = members(tree)
    assert max(counts.values()) <= MAX_MEMBERS
    assert all(counts[number] for number in range(1, len(tree.names)))


def test_names_give_scopes_and_chains_of_one_are_merged() -> None:
    names = ["/net/encoder/layer.0/MatMul", "/net/encoder/layer.0/Add", "/net/head/Gemm", ""]
    tree = group(names, ["MatMul", "Add", "Gemm", "Softmax"], chain(4))
    assert tree.names == ["", "net", "encoder/layer.0", "head"]
    assert [tree.names[number] for number in tree.group] == [
        "encoder/layer.0", "encoder/layer.0", "head", "head",
    ]  # fmt: skip


def residual(count: int) -> tuple[list[str], list[tuple[int, int]]]:
    """Blocks of Conv, Relu, Conv, Add with a skip, after a stem."""
    operators, edges = ["Conv", "Relu"], [(0, 1)]
    for _ in range(count):
        start = len(operators) - 1
        operators += ["Conv", "Relu", "Conv", "Add", "Relu"]
        edges += [(n, n + 1) for n in range(start, start + 5)] + [(start, start + 4)]
    return operators, edges


def test_repeated_blocks_of_unnamed_networks_are_found_and_called_alike() -> None:
    operators, edges = residual(6)
    tree = group([""] * len(operators), operators, edges)
    blocks = [n for n, kind in enumerate(tree.kinds) if kind == "block"]
    assert len(blocks) == 6
    assert sum(1 for n in blocks if tree.alike[n] == tree.alike[blocks[2]] >= 0) >= 5


def test_a_long_chain_without_structure_is_cut_into_parts() -> None:
    count = 30 * MAX_MEMBERS
    tree = group([""] * count, ["Relu"] * count, chain(count))
    assert max(members(tree).values()) <= MAX_MEMBERS


def test_hostile_names_are_bounded() -> None:
    names = ["/".join(["x" * 500] * 3000), "<script>/a", "/" * 5000, "a/b"]
    tree = group(names, ["Relu"] * 4, chain(4))
    assert all(len(name) <= 80 for name in tree.names)
    assert len(tree.names) < 20


def test_bodies_of_control_flow_are_groups_beside_their_node() -> None:
    operators = ["Relu", "If", "Add", "Mul"]
    before, after = neighbours(4, [(0, 1), (2, 1), (3, 1)])
    bodies = [(0, "main"), (1, "then_branch"), (1, "else_branch")]
    tree = hierarchy(
        [""] * 4, operators, before, after, topological(before, after), bodies, [0, 0, 1, 2]
    )
    assert [tree.names[n] for n in tree.group] == ["", "", "then_branch", "else_branch"]
    assert [tree.kinds[n] for n in tree.group[2:]] == ["body", "body"]
