"""Which integers a network takes: how long the tables are that its inputs look up in.

An index beyond its table is an error, or worse, so whoever makes inputs up has to know.
"""

from collections.abc import Iterator

from workers.inspection.flow import Flow, Step

#: Hand on the integers they are given, in another shape or type.
_HANDS_ON = frozenset(
    (  # noqa: SIM905
        "Identity Cast Reshape Flatten Squeeze Unsqueeze Transpose Slice Expand Tile Split"
        " Dropout Concat"
    ).split()
)
#: Operator to its inputs that are indices, each with the table it looks up in.
_TABLES = {
    "com.microsoft::EmbedLayerNormalization": ((0, 2), (1, 4)),
    "com.microsoft::QEmbedLayerNormalization": ((0, 2), (1, 4)),
}


def integer_bounds(flow: Flow, names: list[str]) -> dict[str, int]:
    """Input to the number of rows of the smallest table it indexes; others are left out.

    Args:
        names: Of the main graph's inputs, in order.
    """
    # Value to the inputs whose integers it may hold.
    carried = {value: {name} for value, name in zip(flow.main.inputs, names, strict=True)}
    found: dict[str, int] = {}
    for step in flow.main.steps:
        for indices, rows in _look_ups(step, flow):
            for name in carried.get(indices, ()):
                found[name] = min(rows, found.get(name, rows))
        if step.op in _HANDS_ON:
            given = step.inputs if step.op == "Concat" else step.inputs[:1]
            held = {n for value in given if value is not None for n in carried.get(value, ())}
            carried |= {value: held for value in step.outputs if value is not None and held}
    return found


def _look_ups(step: Step, flow: Flow) -> Iterator[tuple[int, int]]:
    """Value that is an index, and the number of rows it chooses from."""
    axis = step.number("axis", 0) if step.op == "Gather" else 0
    pairs = ((1, 0),) if step.op == "Gather" else _TABLES.get(step.op, ())
    for index, table in pairs:
        value, shape = step.input(index), flow.shape(step.input(table))
        if value is None or not shape or not -len(shape) <= axis < len(shape):
            continue
        rows = shape[axis]
        if rows:
            yield value, rows
