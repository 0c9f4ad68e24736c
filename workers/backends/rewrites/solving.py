"""Solves for sizes that shape inference leaves unknown.

PyTorch's older exporter lets ``Reshape`` compute the number of heads. Shape inference does not
divide::

    [batch, length, 192]  ─ Reshape ─▶  [batch, length, heads, 32]:    heads = 192 / 32
"""

import math
from collections import Counter

from workers.backends.rewrites.graph import EditableGraph

_Shape = tuple[int | str, ...]


def solve_sizes(graph: EditableGraph) -> dict[str, int]:
    """Names of unknown sizes, and their values.

    A ``Reshape`` keeps the number of elements. Where all other unknown sizes are on both sides, the
    last one is a quotient. Where names of other sizes differ, a ``Reshape`` that adds an axis is
    taken for a division of the last axis. This is no proof: builds are checked.
    """
    sizes: dict[str, int] = {}
    for node in graph.nodes:
        if node.op_type != "Reshape":
            continue
        before, after = graph.shape(node.input[0]), graph.shape(node.output[0])
        if before is not None and after is not None:
            sizes |= _solved(_filled(before, sizes), _filled(after, sizes))
    return sizes


def _filled(shape: _Shape, sizes: dict[str, int]) -> _Shape:
    return tuple(sizes.get(size, size) if isinstance(size, str) else size for size in shape)


def _solved(before: _Shape, after: _Shape) -> dict[str, int]:
    """The unknown size that is on one side only."""
    names = [Counter(size for size in shape if isinstance(size, str)) for shape in (before, after)]
    factors = [
        math.prod(size for size in shape if isinstance(size, int)) for shape in (before, after)
    ]
    for one, other in ((0, 1), (1, 0)):
        rest = names[one] - names[other]
        if rest.total() == 1 and not names[other] - names[one] and factors[one]:
            size, remainder = divmod(factors[other], factors[one])
            if size and not remainder:
                return dict.fromkeys(rest, size)
    return _divided(before, after)


def _divided(before: _Shape, after: _Shape) -> dict[str, int]:
    """The last axis but one, if the last axis before was divided."""
    if len(before) < 2 or len(after) != len(before) + 1:
        return {}
    width, name, size = before[-1], after[-2], after[-1]
    if not (isinstance(width, int) and isinstance(name, str) and isinstance(size, int) and size):
        return {}
    return {} if width % size else {name: width // size}
