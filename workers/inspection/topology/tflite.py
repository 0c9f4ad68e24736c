"""Columns of a document from a TensorFlow Lite network: its main graph, without options."""

import numpy as np

from workers.inspection.errors import printable
from workers.inspection.interface import Unusable
from workers.inspection.tflite import TfliteNetwork, dtype_of
from workers.inspection.tflite_graph import TfliteStep, step_macs, steps_of
from workers.inspection.topology.columns import Columns, Shape
from workers.inspection.topology.statistics import MOST_ELEMENTS, Statistics, describe
from workers.inspection.topology.weights import MAX_NODES

#: Bytes of weights that are read.
_MOST_BYTES = 2**29


def read_columns(network: TfliteNetwork) -> Columns:
    """The columns of a network; nodes have the order of the file. Raises Malformed."""
    columns = Columns(bodies=[(-1, "main")])
    left = _MOST_BYTES
    buffers = list(network.model.tables(4))
    for place, tensor in enumerate(network.tensors):
        number = columns.tensor(printable(tensor.text(3)))
        columns.describe_tensor(number, _dtype(network, place), _shape(network, place))
        if size := network.constants[place]:
            left -= size
            data = buffers[tensor.scalar(2, "I")].content(0) if left >= 0 else b""
            statistics = _statistics(data, _dtype(network, place))
            columns.initializer(number, size, statistics)
    if left < 0:
        columns.omitted.add("statistics")
    steps = list(steps_of(network))
    makers: dict[int, int] = {}
    for step in steps[:MAX_NODES]:
        node = columns.node(step.op, "", 0)
        columns.inputs[node], columns.outputs[node] = list(step.inputs), list(step.outputs)
        columns.macs[node] = step_macs(network, step)
        columns.parameter_bytes[node] = _stored_bytes(network, step)
        makers |= dict.fromkeys(step.outputs, node)
    columns.edges += [
        (makers[value], node, value)
        for node, inputs in enumerate(columns.inputs)
        for value in dict.fromkeys(inputs)
        if makers.get(value, node) != node
    ]
    columns.graph_inputs += network.main.numbers(1, "i")
    columns.graph_outputs += network.main.numbers(2, "i")
    if len(steps) > MAX_NODES:
        columns.omitted.add("nodes")
    columns.totals = {
        "nodes": len(steps),
        "edges": len(columns.edges),
        "initializers": sum(1 for size in network.constants if size),
        "bodies": 0,
    }
    return columns


def _stored_bytes(network: TfliteNetwork, step: TfliteStep) -> int:
    return sum(network.constants[place] for place in step.inputs if place >= 0)


def _dtype(network: TfliteNetwork, place: int) -> str:
    try:
        return dtype_of(network.tensors[place])
    except Unusable:
        return "unknown"


def _shape(network: TfliteNetwork, place: int) -> Shape:
    tensor = network.tensors[place]
    sizes = tensor.numbers(7, "i") or tensor.numbers(0, "i")
    return [size if size >= 0 else "?" for size in sizes]


def _statistics(data: bytes, name: str) -> Statistics | None:
    """Statistics of stored values, quantised ones as integers."""
    try:
        dtype = np.dtype(name)
    except TypeError:
        return None
    if not data or len(data) % dtype.itemsize:
        return None
    values = np.frombuffer(data, dtype)
    return describe(values[:: -(-values.size // MOST_ELEMENTS)], values.size)
