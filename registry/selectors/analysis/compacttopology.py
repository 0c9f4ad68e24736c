"""What a browser needs of a topology to draw it, small: about a fifth of the document.

Attributes and statistics of weights are left out; :func:`node_details` has those of one node.
Columns of numbers that mostly grow are differences; names that begin like that of the node
before the tensor refer to it; edges that follow from inputs and outputs are left out.
``hub/assets/graph/compact.js`` reads it. The format is private to the pages of one version of the
hub; the document of schema ``hpcfair.topology/1`` is what others read.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import gcd
from typing import Any

Document = Mapping[str, Any]


def compact_topology(document: Document) -> dict[str, Any]:
    """The compact form of a document of schema ``hpcfair.topology/1``."""
    nodes, tensors, initializers = document["nodes"], document["tensors"], document["initializers"]
    types, type_of = _table(
        (dtype, None if shape is None else tuple(shape))
        for dtype, shape in zip(tensors["dtype"], tensors["shape"], strict=True)
    )
    names, suffixes = _tensor_names(document)
    columns = (document["edges"][name] for name in ("source", "target", "tensor"))
    edges = list(zip(*columns, strict=True))
    return {
        **{
            name: document[name]
            for name in (
                "path", "format", "totals", "omitted", "operators", "dtypes", "inputs", "outputs",
                "bodies", "groups",
            )
        },
        "nodes": {
            "operator": nodes["operator"],
            "name": nodes["name"],
            "group": _steps(nodes["group"]),
            "body": _steps(nodes["body"]),
            "x": _places(nodes["x"]),
            "y": _places(nodes["y"]),
            "macs": nodes["macs"],
            "parameter_bytes": nodes["parameter_bytes"],
            "inputs": _lists(nodes["inputs"]),
            "outputs": _lists(nodes["outputs"]),
        },
        "tensors": {"name": names, "suffixes": suffixes, "type": type_of, "types": types},
        "initializers": {
            "tensor": _steps(initializers["tensor"]), "bytes": initializers["bytes"],
        },
        "edges": None if edges == _flow(document) else document["edges"],
    }  # fmt: skip


def node_details(document: Document, node: int) -> dict[str, Any]:
    """Attributes ``[name, kind, value]`` of a node, and statistics of the weights that it reads by
    the number of their tensor."""
    stored = document["initializers"]
    read = set(document["nodes"]["inputs"][node])
    return {
        "attributes": [row[1:] for row in document["attributes"] if row[0] == node],
        "statistics": {
            str(tensor): statistics
            for tensor, statistics in zip(stored["tensor"], stored["statistics"], strict=True)
            if tensor in read
        },
    }


def _steps(numbers: Sequence[int]) -> list[int]:
    """The first number, then the differences."""
    return [number - before for number, before in zip(numbers, [0, *numbers], strict=False)]


def _places(places: Sequence[int | None]) -> dict[str, Any]:
    """Coordinates as steps of their greatest common divisor; -1 where there is none."""
    unit = gcd(*(place for place in places if place)) or 1
    return {
        "unit": unit,
        "steps": _steps([-1 if place is None else place // unit for place in places]),
    }


def _lists(lists: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Lists of numbers as their lengths and the steps of all numbers."""
    return {
        "count": [len(each) for each in lists],
        "steps": _steps([number for each in lists for number in each]),
    }


def _table(values: Iterable[Any]) -> tuple[list[Any], list[int]]:
    """Distinct values, and the place of each value among them."""
    places: dict[Any, int] = {}
    at = [places.setdefault(value, len(places)) for value in values]
    return list(places), at


def _tensor_names(document: Document) -> tuple[list[str | int], list[str]]:
    """Names of tensors, and endings: a number stands for the name of the node that makes the
    tensor with that ending."""
    makers = _makers(document)
    nodes, endings = document["nodes"]["name"], dict[str, int]()
    names: list[str | int] = []
    for tensor, name in enumerate(document["tensors"]["name"]):
        maker = nodes[makers[tensor]] if tensor in makers else ""
        if maker and name.startswith(maker):
            names.append(endings.setdefault(name[len(maker) :], len(endings)))
        else:
            names.append(name)
    return names, list(endings)


def _makers(document: Document) -> dict[int, int]:
    """Tensor to the node that makes it."""
    outputs = document["nodes"]["outputs"]
    return {tensor: node for node, made in enumerate(outputs) for tensor in made if tensor >= 0}


def _flow(document: Document) -> list[tuple[int, int, int]]:
    """Edges that follow from the inputs and outputs of drawn nodes, in the order of the nodes."""
    makers, x = _makers(document), document["nodes"]["x"]
    return [
        (makers[tensor], node, tensor)
        for node, read in enumerate(document["nodes"]["inputs"])
        for tensor in dict.fromkeys(read)
        if x[node] is not None
        and makers.get(tensor, node) != node
        and x[makers[tensor]] is not None
    ]
