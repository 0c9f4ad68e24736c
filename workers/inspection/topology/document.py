"""The document of a network: ``hpcfair.topology/1``, in columns.

Nodes of the main graph have their positions in ``graph.node`` of the file; nodes of bodies follow.
Values are numbered; ``Constant`` nodes count as initialisers, and are neither drawn nor connected.
"""

from typing import Any

import onnx

from workers.inspection.flow import Flow
from workers.inspection.topology.columns import Columns
from workers.inspection.topology.groups import Hierarchy, hierarchy
from workers.inspection.topology.layout import lay_out, topological
from workers.inspection.topology.reader import read
from workers.inspection.topology.weights import Weights

SCHEMA = "hpcfair.topology/1"
Document = dict[str, Any]


def describe(model: onnx.ModelProto, shown: str, flow: Flow | None, weights: Weights) -> Document:
    """The document of a checked skeleton.

    Args:
        shown: Path of the file.
        flow: Data flow of the same graphs with all dimensions closed, for the arithmetic cost;
            ``None`` if nodes call functions.
        weights: Read from the same model before its weights were dropped.
    """
    return document(read(model, flow, weights), shown, "onnx")


def document(columns: Columns, shown: str, file_format: str) -> Document:
    """The document of what was read from a file: with groups and coordinates."""
    drawn = [node for node, hidden in enumerate(columns.hidden) if not hidden]
    place = {node: number for number, node in enumerate(drawn)}
    edges = [
        (place[source], place[target])
        for source, target, _ in columns.edges
        if source in place and target in place
    ]
    layout = lay_out(len(drawn), edges)
    tree = _hierarchy(columns, drawn, place, edges)
    count = len(columns.names)
    group = [0] * count
    x: list[int | None] = [None] * count
    y: list[int | None] = [None] * count
    for number, node in enumerate(drawn):
        group[node], x[node], y[node] = tree.group[number], layout.x[number], layout.y[number]
    for node, reader in columns.readers_of_hidden().items():
        group[node] = group[reader]
    return {
        "schema": SCHEMA,
        "path": shown,
        "format": file_format,
        "totals": columns.totals,
        "omitted": sorted(columns.omitted | ({"order"} if layout.method != "layered" else set())),
        **_as_read(columns),
        "nodes": {**_nodes(columns), "group": group, "x": x, "y": y},
        "groups": {
            "name": tree.names,
            "parent": tree.parents,
            "kind": tree.kinds,
            "alike": tree.alike,
        },
        "layout": {
            "width": layout.width,
            "height": layout.height,
            "method": layout.method,
            "backward": layout.backward,
        },
    }


def _hierarchy(
    columns: Columns, drawn: list[int], place: dict[int, int], edges: list[tuple[int, int]]
) -> Hierarchy:
    before: list[list[int]] = [[] for _ in drawn]
    after: list[list[int]] = [[] for _ in drawn]
    for source, target in dict.fromkeys(edges):
        if source != target:
            before[target].append(source)
            after[source].append(target)
    return hierarchy(
        [columns.names[node] for node in drawn],
        [columns.operators[columns.operator[node]] for node in drawn],
        before,
        after,
        topological(before, after),
        [(place.get(owner, 0), name) for owner, name in columns.bodies],
        [columns.body[node] for node in drawn],
        frozenset(place[node] for node in columns.fixed() if node in place),
    )


def _nodes(columns: Columns) -> Document:
    return {
        "operator": columns.operator,
        "name": columns.names,
        "body": columns.body,
        "macs": columns.macs,
        "parameter_bytes": columns.parameter_bytes,
        "inputs": columns.inputs,
        "outputs": columns.outputs,
    }


def _as_read(columns: Columns) -> Document:
    sources, targets, tensors = zip(*columns.edges, strict=True) if columns.edges else ((), (), ())
    return {
        "operators": columns.operators,
        "dtypes": columns.dtypes,
        "attributes": columns.attributes,
        "tensors": {
            "name": columns.tensor_names,
            "dtype": columns.tensor_dtypes,
            "shape": columns.tensor_shapes,
        },
        "initializers": {
            "tensor": columns.initializer_tensors,
            "node": columns.initializer_nodes,
            "bytes": columns.initializer_bytes,
            "statistics": columns.statistics,
        },
        "inputs": columns.graph_inputs,
        "outputs": columns.graph_outputs,
        "bodies": {
            "node": [owner for owner, _ in columns.bodies],
            "name": [name for _, name in columns.bodies],
        },
        "edges": {"source": sources, "target": targets, "tensor": tensors},
    }
