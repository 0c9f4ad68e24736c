"""Ensembles of decision trees, as every library's models are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

#: How the sums of the trees become predictions: nothing; ``1 / (1 + exp(-s x))``; softmax over the
#: targets; ``exp(x)``; ``sign(x) x**2``.
Link = Literal["identity", "sigmoid", "softmax", "exp", "square"]
Comparison = Literal["BRANCH_LT", "BRANCH_LEQ", "BRANCH_GT", "BRANCH_EQ"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a tree adds to the sums, by target."""

    weights: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Split:
    """A comparison of one feature with ``value``.

    Attributes:
        missing_is_true: Whether NaN goes to ``if_true``.
    """

    feature: int
    comparison: Comparison
    value: float
    missing_is_true: bool
    if_true: "Node"
    if_false: "Node"


Node = Leaf | Split


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Trees whose leaves are summed.

    Attributes:
        features: Columns of the input.
        base: Sums before the first tree, one per target.
        dtype: Type in which features are compared and leaves are summed.
        average_of: Number of trees per target if their mean is wanted, else 1.
        sigmoid: Factor ``s`` of the link ``sigmoid``.
        missing: A value that means that a feature is missing, as NaN always does.
        classes: Labels in the order of the targets, of a classifier. One target is the second of
            two classes.
    """

    trees: Sequence[Node]
    features: int
    base: Sequence[float]
    dtype: type[np.float32 | np.float64] = np.float32
    link: Link = "identity"
    average_of: int = 1
    sigmoid: float = 1.0
    missing: float | None = None
    classes: Sequence[int | str] = field(default=())


def membership(
    feature: int, values: Sequence[float], inside: Node, outside: Node, *, missing_is_inside: bool
) -> Node:
    """A split by whether a feature is one of ``values``: a chain of comparisons, whose nodes share
    the tree ``inside``."""
    node = outside
    for value in reversed(values):
        node = Split(feature, "BRANCH_EQ", value, missing_is_inside, inside, node)
    return node
