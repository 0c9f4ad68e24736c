"""Networks compared node by node, whatever the nodes are called."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from registry.selectors.analysis.graphdiff import graph_difference


def chain(
    *operators: str, names: str = "n", mean: float = 0.5, **attributes: Any
) -> dict[str, Any]:
    """A chain of nodes over ``x[1,8]``, each Conv with weights ``[8,8]``.

    ``attributes`` maps ``at<position>`` to an attribute of that node.
    """
    count = len(operators)
    kinds = list(dict.fromkeys(operators))
    convs = [at for at, operator in enumerate(operators) if operator == "Conv"]
    weights = {at: count + 1 + number for number, at in enumerate(convs)}
    return {
        "operators": kinds,
        "dtypes": ["float32"],
        "nodes": {
            "operator": [kinds.index(each) for each in operators],
            "name": [f"{names}{at}" if names else "" for at in range(count)],
            "inputs": [[at, *([weights[at]] if at in weights else [])] for at in range(count)],
            "outputs": [[at + 1] for at in range(count)],
        },
        "attributes": [[int(key[2:]), "axis", "int", str(value)]
                       for key, value in sorted(attributes.items())],
        "tensors": {
            "dtype": [0] * (count + 1 + len(convs)),
            "shape": [[1, 8]] * (count + 1) + [[8, 8]] * len(convs),
        },
        "initializers": {
            "tensor": list(weights.values()),
            "statistics": [{"counted": 64, "min": 0.0, "max": 1.0, "mean": mean, "std": 0.1}
                           for _ in convs],
        },
    }  # fmt: skip


BLOCK = ("Conv", "Relu", "Conv", "Relu", "Pool")


def test_equal_networks_do_not_differ() -> None:
    made = graph_difference(chain(*BLOCK), chain(*BLOCK))
    assert made.changes == []
    assert made.renamed == 0
    assert made.matches == {at: at for at in range(5)}


def test_renaming_every_node_changes_nothing() -> None:
    made = graph_difference(chain(*BLOCK), chain(*BLOCK, names="layer_"))
    assert made.changes == []
    assert made.renamed == 5


def test_a_node_in_the_middle_is_added_even_among_repetitions() -> None:
    longer = ("Conv", "Relu", "Sigmoid", "Conv", "Relu", "Pool")
    made = graph_difference(chain(*BLOCK, names=""), chain(*longer, names=""))
    added = [change for change in made.changes if change.kind == "added"]
    assert [(change.operator, change.after) for change in added] == [("Sigmoid", 2)]
    assert made.count("removed") == 0
    # The next convolution reads another value.
    assert [(one.operator, one.what) for one in made.changes if one.kind == "changed"] == [
        ("Conv", ("inputs",))
    ]
    back = graph_difference(chain(*longer, names=""), chain(*BLOCK, names=""))
    assert [(one.operator, one.before) for one in back.changes if one.kind == "removed"] == [
        ("Sigmoid", 2)
    ]


def test_a_changed_attribute_is_a_change_of_its_node_only() -> None:
    made = graph_difference(chain(*BLOCK, at4=1), chain(*BLOCK, at4=2))
    assert [(one.before, one.after, one.what) for one in made.changes] == [(4, 4, ("attributes",))]


def test_other_weights_are_a_change_of_weights() -> None:
    made = graph_difference(chain(*BLOCK), chain(*BLOCK, mean=0.25))
    assert [(one.after, one.what) for one in made.changes] == [
        (0, ("weights",)),
        (2, ("weights",)),
    ]


def test_a_replaced_operator_is_removed_and_added() -> None:
    other = ("Conv", "Gelu", "Conv", "Relu", "Pool")
    made = graph_difference(chain(*BLOCK, names=""), chain(*other, names=""))
    assert {(one.kind, one.operator) for one in made.changes} >= {
        ("added", "Gelu"),
        ("removed", "Relu"),
    }


def test_many_different_nodes_are_not_aligned_and_that_is_said() -> None:
    made = graph_difference(
        chain(*["Relu"] * 2500, names="", at0=1), chain(*["Tanh"] * 2500, names="")
    )
    assert made.is_partial
    assert made.count("added") == made.count("removed") == 2500


operators = st.lists(st.sampled_from(["Conv", "Relu", "Pool"]), min_size=1, max_size=12)


@given(operators, operators)
def test_every_node_is_matched_added_or_removed(before: list[str], after: list[str]) -> None:
    made = graph_difference(chain(*before, names=""), chain(*after, names=""))
    assert len(set(made.matches.values())) == len(made.matches)
    assert made.count("removed") == len(before) - len(made.matches)
    assert made.count("added") == len(after) - len(made.matches)
    for one, other in made.matches.items():
        assert before[one] == after[other]
