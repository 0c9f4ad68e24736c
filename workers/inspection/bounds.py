"""Upper bounds of the integer inputs of a network: the lengths of the tables that they index.
Generated test inputs must stay below them: an index outside its table is an error, or undefined."""

from collections.abc import Iterator

from workers.inspection.flow import Flow, Step

#: Operators that pass integers through, in another shape or type.
_PASS_THROUGH = frozenset(
    (  # noqa: SIM905
        "Identity Cast Reshape Flatten Squeeze Unsqueeze Transpose Slice Expand Tile Split"
        " Dropout Concat"
    ).split()
)
#: Operator to pairs of inputs: the indices, and the table that they index.
_TABLES = {
    "com.microsoft::EmbedLayerNormalization": ((0, 2), (1, 4)),
    "com.microsoft::QEmbedLayerNormalization": ((0, 2), (1, 4)),
}


def integer_bounds(flow: Flow, names: list[str]) -> dict[str, int]:
    """Each input that indexes tables, with the number of rows of the smallest one. ``names`` are
    the main graph's inputs, in order."""
    # Value to the names of the inputs whose integers it may hold.
    carried = {value: {name} for value, name in zip(flow.main.inputs, names, strict=True)}
    bounds: dict[str, int] = {}
    for step in flow.main.steps:
        for indices, rows in _look_ups(step, flow):
            for name in carried.get(indices, ()):
                bounds[name] = min(rows, bounds.get(name, rows))
        if step.op in _PASS_THROUGH:
            sources = step.inputs if step.op == "Concat" else step.inputs[:1]
            held = {n for value in sources if value is not None for n in carried.get(value, ())}
            carried |= {value: held for value in step.outputs if value is not None and held}
    return bounds


def _look_ups(step: Step, flow: Flow) -> Iterator[tuple[int, int]]:
    """The index values of a lookup, each with the number of rows of its table."""
    axis = step.number("axis", 0) if step.op == "Gather" else 0
    pairs = ((1, 0),) if step.op == "Gather" else _TABLES.get(step.op, ())
    for index, table in pairs:
        value, shape = step.input(index), flow.shape(step.input(table))
        if value is None or not shape or not -len(shape) <= axis < len(shape):
            continue
        rows = shape[axis]
        if rows:
            yield value, rows
