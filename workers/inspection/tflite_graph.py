"""Facts of a network published as TensorFlow Lite files alone, as of an ONNX file.

A file states the shapes of all its tensors, so nothing is inferred. There is no structure
embedding, so only networks of equal structure count as similar.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.dimensions import with_short_names
from workers.engine.types import TensorSpec
from workers.inspection.architecture import architecture_class
from workers.inspection.errors import InspectionError, printable
from workers.inspection.flatbuffer import Malformed, Table
from workers.inspection.interface import Unusable
from workers.inspection.motifs import Convolution, Motifs
from workers.inspection.tflite import (
    TfliteNetwork,
    dtype_of,
    is_quantised,
    open_tflite,
    operator_code,
)  # fmt: skip
from workers.inspection.tflite_operators import (
    CONVOLUTIONS,
    PRODUCTS,
    RECURRENCES,
    SUPPRESSIONS,
    name_of,
)  # fmt: skip

#: DANGER: part of every hash. Change it only when the method changes.
_METHOD = b"hpcfair.tflite-graph/1"
_HINT = "Convert the model again; operators of your own cannot be run here."
#: Elements of the narrowest type per byte; guards against impossible sizes.
_MOST_PER_BYTE, _MOST_MACS = 8, 2**63 - 1
#: Gathering operator to the positions of its table and its indices.
_GATHERS = {"GATHER": (0, 1), "EMBEDDING_LOOKUP": (1, 0)}


@dataclass(frozen=True, slots=True)
class TfliteStep:
    """An operator of the main graph; ``inputs`` are tensor indices, -1 for an omitted input."""

    op: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    table: Table


def read_tflite_graph(folder: Path, shown: str) -> dict[str, Any]:
    """Facts of the file ``shown``, as :func:`workers.inspection.inspect.read_graph` returns them.
    Raises InspectionError (``tflite_invalid``) if it is damaged, or needs custom operators."""
    try:
        return _facts(open_tflite(folder / shown), shown)
    except (Unusable, Malformed) as error:
        detail = f"{shown}: {printable(str(error))}."
        raise InspectionError("tflite_invalid", detail, _HINT) from error


def _facts(network: TfliteNetwork, shown: str) -> dict[str, Any]:
    steps = list(steps_of(network))
    weights = _weights(network)
    macs = sum(step_macs(network, step) for step in steps)
    inputs, outputs = network.interface.inputs, network.interface.outputs
    return {
        "path": shown,
        "format": "tflite",
        "graph_hash": _graph_hash(network, steps),
        "architecture_class": architecture_class(_motifs(network, steps)),
        "parameters": sum(weights.values()),
        "macs": macs if macs <= _MOST_MACS else None,
        "signature": with_short_names(
            {"inputs": _described(inputs), "outputs": _described(outputs)}
        ),
        "operators": _histogram(network),
        "embedding": [],
        "opsets": {"tflite": network.model.scalar(0, "I")},
        "ir_version": 0,
        "producer": printable(network.model.text(3), 200),
        "external_data": [],
        "weight_bytes": sum(network.constants),
        "integer_bounds": _integer_bounds(network, steps),
        "weight_dtypes": dict(weights),
        # Only builds from ONNX files use them.
        "convolutions": [],
        "forms": [],
    }


def steps_of(network: TfliteNetwork) -> Iterator[TfliteStep]:
    """The operators of the main graph. Raises Malformed."""
    codes = [operator_code(code) for code in network.model.tables(1)]
    for table in network.main.tables(3):
        code, inputs, outputs = table.scalar(0, "I"), table.numbers(1, "i"), table.numbers(2, "i")
        if code >= len(codes) or any(n >= len(network.tensors) for n in (*inputs, *outputs)):
            raise Malformed("it names what it does not have")
        yield TfliteStep(name_of(codes[code]), inputs, outputs, table)


def _histogram(network: TfliteNetwork) -> dict[str, int]:
    codes = [operator_code(code) for code in network.model.tables(1)]
    used: Counter[str] = Counter()
    for graph in network.model.tables(2):
        for step in graph.tables(3):
            place = step.scalar(0, "I")
            if place >= len(codes):
                raise Malformed("it names what it does not have")
            used[f"tflite::{name_of(codes[place])}"] += 1
    return dict(sorted(used.items()))


def _described(tensors: tuple[TensorSpec, ...]) -> list[dict[str, Any]]:
    return [{"name": t.name, "dtype": t.dtype, "shape": list(t.shape)} for t in tensors]


def _weights(network: TfliteNetwork) -> Counter[str]:
    elements_by_dtype: Counter[str] = Counter()
    for tensor, held in zip(network.tensors, network.constants, strict=True):
        if not held:
            continue
        dtype, elements = dtype_of(tensor), math.prod(_shape(tensor))
        if elements > _MOST_PER_BYTE * held:
            raise Malformed("a tensor has more elements than values")
        if np.dtype(dtype).kind == "f" or is_quantised(tensor):
            elements_by_dtype[dtype] += elements
    return elements_by_dtype


def _shape(tensor: Table) -> tuple[int, ...]:
    # Dynamic dimensions count 1, which is also how this field states them.
    return tuple(max(0, size) for size in tensor.numbers(0, "i"))


def step_macs(network: TfliteNetwork, step: TfliteStep) -> int:
    """Multiply-accumulates of an operator; 0 for those that are not linear."""
    if step.op not in CONVOLUTIONS | PRODUCTS or not step.outputs:
        return 0
    out = math.prod(_shape_at(network, step.outputs[0]))
    left, right = (_shape_at(network, _place(step, number)) for number in (0, 1))
    if step.op == "FULLY_CONNECTED":
        return out * (right[-1] if right else 0)
    if step.op == "BATCH_MATMUL":
        return out * (left[-1] if left else 0)
    if step.op == "DEPTHWISE_CONV_2D":
        return out * math.prod(right[1:3])
    if step.op == "TRANSPOSE_CONV":
        # Each input element is multiplied by the whole kernel, once per output channel.
        read = math.prod(_shape_at(network, _place(step, 2)))
        return read * math.prod(right[:3])
    return out * math.prod(right[1:])


def _motifs(network: TfliteNetwork, steps: list[TfliteStep]) -> Motifs:
    motifs = Motifs()
    softmaxes = 0
    for step in steps:
        weight = _place(step, 1)
        elements = math.prod(_shape_at(network, weight))
        if step.op in CONVOLUTIONS:
            motifs.convolutions.append(_convolution(network, step))
            motifs.convolution_weights += elements
        elif step.op in PRODUCTS and _is_constant(network, weight):
            motifs.products += 1
            motifs.product_weights += elements
        elif step.op in PRODUCTS:
            motifs.mixings += 1
        elif step.op == "ADD":
            motifs.skips += _is_skip(network, step)
        softmaxes += step.op == "SOFTMAX"
        motifs.recurrences += step.op in RECURRENCES
        motifs.suppressions += step.op in SUPPRESSIONS
    # Each attention has two products of computed tensors around its softmax.
    motifs.attentions = min(softmaxes, motifs.mixings // 2)
    return motifs


def _convolution(network: TfliteNetwork, step: TfliteStep) -> Convolution:
    """Filters are ``[outputs, height, width, inputs]``, or ``[1, height, width, n]`` by channel."""
    shape = _shape_at(network, _place(step, 1))
    read = _place(step, 2 if step.op == "TRANSPOSE_CONV" else 0)
    channels = _shape_at(network, read)[-1:] or (1,)
    depthwise = step.op == "DEPTHWISE_CONV_2D"
    inputs = max(1, shape[3] if len(shape) == 4 else 1)
    options = step.table.table(4)
    strides = () if options is None else (options.scalar(1, "i"), options.scalar(2, "i"))
    return Convolution(
        kernel=shape[1:3],
        group=channels[0] if depthwise else max(1, channels[0] // inputs),
        depthwise=depthwise,
        strided=any(stride > 1 for stride in strides),
        dilated=False,
        weights=math.prod(shape),
    )


def _is_skip(network: TfliteNetwork, step: TfliteStep) -> bool:
    computed = {n for n in step.inputs if n >= 0 and not _is_constant(network, n)}
    shapes = {_shape_at(network, n) for n in computed}
    return len(computed) > 1 and len(shapes) == 1 and len(next(iter(shapes))) > 1


def _integer_bounds(network: TfliteNetwork, steps: list[TfliteStep]) -> dict[str, int]:
    """Number of rows of the tables that integer inputs index directly."""
    names = dict(zip(network.main.numbers(1, "i"), network.interface.inputs, strict=True))
    bounds: dict[str, int] = {}
    for step in steps:
        if step.op not in _GATHERS:
            continue
        table, indices = (_place(step, number) for number in _GATHERS[step.op])
        shape = _shape_at(network, table)
        if indices in names and shape and _is_constant(network, table):
            name = names[indices].name
            bounds[name] = min(shape[0], bounds.get(name, shape[0]))
    return bounds


def _graph_hash(network: TfliteNetwork, steps: list[TfliteStep]) -> str:
    """Hex SHA-256 over operators, their options, shapes and connections; no names, no weights.

    Tensors are identified by their order in the file, so exporters may yield different hashes for
    one network; their searches then share no history.
    """
    digest = hashlib.sha256(_METHOD)

    def add(*parts: object) -> None:
        digest.update(repr(parts).encode())

    for tensor in network.tensors:
        add(tensor.numbers(0, "i"), tensor.numbers(7, "i"), tensor.scalar(1, "b"))
    for step in steps:
        options = step.table.table(4)
        add(step.op, step.inputs, step.outputs, b"" if options is None else options.inline())
    add(network.main.numbers(1, "i"), network.main.numbers(2, "i"))
    return digest.hexdigest()


def _place(step: TfliteStep, number: int) -> int:
    """Index of the tensor of an operator's input ``number``; -1 if it is omitted."""
    return step.inputs[number] if number < len(step.inputs) else -1


def _shape_at(network: TfliteNetwork, place: int) -> tuple[int, ...]:
    return _shape(network.tensors[place]) if place >= 0 else ()


def _is_constant(network: TfliteNetwork, place: int) -> bool:
    return place >= 0 and network.constants[place] > 0
