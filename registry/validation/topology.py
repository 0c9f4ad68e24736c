"""Checks a topology that a confined child process wrote, before it is stored and shown.

The whole document is not compared with its JSON Schema, which would take seconds for a large
network: columns have equal lengths, and numbers name what exists.
"""

import json
import zlib
from dataclasses import dataclass
from typing import Any

from registry.errors import Invalid

SCHEMA = "hpcfair.topology/1"
#: Most bytes of a document, gzipped and as JSON.
MAX_GZIPPED, MAX_JSON = 32 * 2**20, 128 * 2**20


@dataclass(frozen=True, slots=True)
class TopologyFacts:
    """A stored document: digest of its gzipped bytes, and its measures."""

    sha256: str
    nodes: int
    edges: int
    groups: int
    size_bytes: int


def check_topology(data: bytes, sha256: str, path: str) -> TopologyFacts:
    """The measures of the gzipped document ``data`` of the network at ``path``.

    Raises ``Invalid``: ``invalid_request``.
    """
    text = _unpacked(data)
    try:
        document = json.loads(text)
        fault = _fault(document, path)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _invalid(f"it has another structure ({type(error).__name__})") from error
    if fault:
        raise _invalid(fault)
    return TopologyFacts(
        sha256=sha256,
        nodes=document["totals"]["nodes"],
        edges=document["totals"]["edges"],
        groups=len(document["groups"]["name"]),
        size_bytes=len(text),
    )


def _unpacked(data: bytes) -> bytes:
    if len(data) > MAX_GZIPPED:
        raise _invalid("it is too large")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        text = unpacker.decompress(data, MAX_JSON)
    except zlib.error as error:
        raise _invalid("it is not gzipped") from error
    if unpacker.unconsumed_tail or unpacker.unused_data or not unpacker.eof:
        raise _invalid("it is too large, or continues after its end")
    return text


def _fault(document: dict[str, Any], path: str) -> str:
    if document["schema"] != SCHEMA or document["path"] != path:
        return "it is of another schema or network"
    count = len(document["nodes"]["name"])
    tensors, groups = len(document["tensors"]["name"]), len(document["groups"]["name"])
    bodies = len(document["bodies"]["node"])
    for name in ("nodes", "tensors", "initializers", "edges", "groups", "bodies"):
        if len({len(column) for column in document[name].values()}) != 1:
            return f"the columns of {name} differ in length"
    nodes, edges = document["nodes"], document["edges"]
    limits = [
        (nodes["operator"], 0, len(document["operators"])),
        (nodes["group"], 0, groups),
        (nodes["body"], 0, bodies),
        (document["tensors"]["dtype"], -1, len(document["dtypes"])),
        (document["initializers"]["tensor"], 0, tensors),
        (document["initializers"]["node"], -1, count),
        (edges["source"], 0, count),
        (edges["target"], 0, count),
        (edges["tensor"], 0, tensors),
        (document["inputs"], 0, tensors),
        (document["outputs"], 0, tensors),
        (document["bodies"]["node"], -1, count),
        ([row[0] for row in document["attributes"]], 0, count),
        *((column, -1, tensors) for column in nodes["inputs"]),
        *((column, -1, tensors) for column in nodes["outputs"]),
    ]
    if not all(_within(*limit) for limit in limits):
        return "a number names what does not exist"
    # Parents come first, so that there are no cycles.
    if any(not -1 <= parent < place for place, parent in enumerate(document["groups"]["parent"])):
        return "a group is inside one that follows it"
    return ""


def _within(column: list[Any], least: int, end: int) -> bool:
    return all(type(value) is int and least <= value < end for value in column)


def _invalid(what: str) -> Invalid:
    return Invalid("invalid_request", f"The topology cannot be stored: {what}.")
