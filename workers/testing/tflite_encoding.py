"""Encodes networks as TensorFlow Lite files, by ``schema.fbs`` version 3."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import flatbuffers

_FLOAT32, _FLOAT16, _INT32, _INT8 = 0, 1, 2, 9
_CODES = {"float32": _FLOAT32, "float16": _FLOAT16, "int32": _INT32, "int8": _INT8}
ADD, CONV_2D, DEPTHWISE_CONV_2D, DEQUANTIZE, FULLY_CONNECTED = 0, 3, 4, 6, 9
#: Number of the options table in the schema's union, by operator.
_OPTIONS_OF = {CONV_2D: 1, DEPTHWISE_CONV_2D: 2, FULLY_CONNECTED: 8, ADD: 11}
Fields = dict[str, tuple[int, str, float]]


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor; ``data`` is empty for those computed at run time, ``scale`` 0 for real values."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    data: bytes = b""
    scale: float = 0.0
    zero: int = 0
    open_batch: bool = False


@dataclass(frozen=True, slots=True)
class EncodedOperator:
    """An operator: its code, the indices of its tensors, and the fields of its options."""

    code: int
    sources: tuple[int, ...]
    result: int
    options: Fields = field(default_factory=dict)


@dataclass(slots=True)
class Draft:
    """A network before it is encoded."""

    tensors: list[StoredTensor] = field(default_factory=list)
    steps: list[EncodedOperator] = field(default_factory=list)

    def add(self, tensor: StoredTensor) -> int:
        """Add a tensor; returns its index."""
        self.tensors.append(tensor)
        return len(self.tensors) - 1


class _Builder:
    """Builds the tables of a FlatBuffers file, innermost first."""

    def __init__(self) -> None:
        self.raw = flatbuffers.Builder(1024)

    def table(self, **fields: tuple[int, str, float]) -> int:
        """Add a table; fields are their number in the schema, kind and value."""
        self.raw.StartObject(1 + max((number for number, _, _ in fields.values()), default=-1))
        for number, kind, value in fields.values():
            if kind == "offset":
                self.raw.PrependUOffsetTRelativeSlot(number, value, 0)
            else:
                getattr(self.raw, f"Prepend{kind}Slot")(number, value, 0)
        return int(self.raw.EndObject())

    def numbers(self, values: Sequence[float], kind: str, width: int) -> int:
        self.raw.StartVector(width, len(values), width)
        for value in reversed(values):
            getattr(self.raw, f"Prepend{kind}")(value)
        return int(self.raw.EndVector())

    def offsets(self, values: Sequence[int]) -> int:
        return self.numbers(values, "UOffsetTRelative", 4)

    def data(self, values: bytes) -> int:
        # The schema requires alignment, because kernels read weights in vectors.
        self.raw.StartVector(1, len(values), 16)
        self.raw.head -= len(values)
        self.raw.Bytes[self.raw.head : self.raw.head + len(values)] = values
        return int(self.raw.EndVector())


def encode(network: Draft, source: int, result: int, version: int) -> bytes:
    """The bytes of a file. ``source`` and ``result`` are the indices of input and output;
    ``version`` is that of the operator ``FULLY_CONNECTED``."""
    build = _Builder()
    # Buffer 0 is empty by convention, for tensors without data.
    constants = [tensor for tensor in network.tensors if tensor.data]
    buffers = [build.table()]
    buffers += [build.table(data=(0, "offset", build.data(tensor.data))) for tensor in constants]
    numbers = {tensor.name: number for number, tensor in enumerate(constants, 1)}
    tensors = [_tensor(build, tensor, numbers.get(tensor.name, 0)) for tensor in network.tensors]
    used = sorted({step.code for step in network.steps}, reverse=True)
    steps = [_step(build, used, step) for step in network.steps]
    graph = build.table(
        tensors=(0, "offset", build.offsets(tensors)),
        inputs=(1, "offset", build.numbers([source], "Int32", 4)),
        outputs=(2, "offset", build.numbers([result], "Int32", 4)),
        operators=(3, "offset", build.offsets(steps)),
    )
    codes = [
        build.table(
            older=(0, "Int8", code),
            version=(2, "Int32", version if code == FULLY_CONNECTED else 1),
            code=(3, "Int32", code),
        )
        for code in used
    ]
    model = build.table(
        version=(0, "Uint32", 3),
        codes=(1, "offset", build.offsets(codes)),
        graphs=(2, "offset", build.offsets([graph])),
        buffers=(4, "offset", build.offsets(buffers)),
    )
    build.raw.Finish(model, b"TFL3")
    return bytes(build.raw.Output())


def _tensor(build: _Builder, tensor: StoredTensor, buffer: int) -> int:
    name = build.raw.CreateString(tensor.name)
    fields: Fields = {
        "shape": (0, "offset", build.numbers(tensor.shape, "Int32", 4)),
        "type": (1, "Int8", _CODES[tensor.dtype]),
        "buffer": (2, "Uint32", buffer),
        "name": (3, "offset", name),
    }
    if tensor.scale:
        scales = build.numbers([tensor.scale], "Float32", 4)
        zeros = build.numbers([tensor.zero], "Int64", 8)
        quantisation = build.table(scale=(2, "offset", scales), zero=(3, "offset", zeros))
        fields["quantisation"] = (4, "offset", quantisation)
    if tensor.open_batch:
        sizes = build.numbers((-1, *tensor.shape[1:]), "Int32", 4)
        fields["open_shape"] = (7, "offset", sizes)
    return build.table(**fields)


def _step(build: _Builder, used: Sequence[int], step: EncodedOperator) -> int:
    fields: Fields = {
        "code": (0, "Uint32", used.index(step.code)),
        "inputs": (1, "offset", build.numbers(step.sources, "Int32", 4)),
        "outputs": (2, "offset", build.numbers([step.result], "Int32", 4)),
    }
    if step.code in _OPTIONS_OF:
        fields["kind"] = (3, "Uint8", _OPTIONS_OF[step.code])
        fields["options"] = (4, "offset", build.table(**step.options))
    return build.table(**fields)
