"""Writes TensorFlow Lite files of small networks, without TensorFlow.

Tables and codes are those of TensorFlow Lite's ``schema.fbs``, version 3; quantisation follows its
"8-bit quantization specification": weights symmetric, activations ``(stored - zero) * scale``,
biases int32 in units of ``scale(input) * scale(weights)``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import flatbuffers
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Kind = Literal["float32", "float16", "int8-weights", "int8"]
_FLOAT32, _FLOAT16, _INT32, _INT8 = 0, 1, 2, 9
_CODES = {"float32": _FLOAT32, "float16": _FLOAT16, "int32": _INT32, "int8": _INT8}
_ADD, _CONV_2D, _DEPTHWISE_CONV_2D, _DEQUANTIZE, _FULLY_CONNECTED = 0, 3, 4, 6, 9
#: Version of the operator that takes these element types, from TensorFlow Lite's op_version.cc.
_VERSIONS = {"float32": 1, "float16": 1, "int8-weights": 3, "int8": 4}
#: Number of the table of an operator's options in the schema's union.
_OPTIONS_OF = {_CONV_2D: 1, _DEPTHWISE_CONV_2D: 2, _FULLY_CONNECTED: 8, _ADD: 11}
_SAME, _RELU = 0, 1
Fields = dict[str, tuple[int, str, float]]


@dataclass(frozen=True, slots=True)
class Layer:
    """``y = x @ weight + bias``, then a rectifier on all layers but the last.

    Attributes:
        weight: ``float32[inputs, outputs]``.
        bias: ``float32[outputs]``.
    """

    weight: Floats
    bias: Floats


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    dtype: str
    data: bytes = b""
    scale: float = 0.0
    zero: int = 0
    open_batch: bool = False


@dataclass(frozen=True, slots=True)
class _Step:
    """An operator: its code, the places of its tensors, and the fields of its options."""

    code: int
    sources: tuple[int, ...]
    result: int
    options: Fields = field(default_factory=dict)


@dataclass(slots=True)
class _Network:
    tensors: list[_Tensor] = field(default_factory=list)
    steps: list[_Step] = field(default_factory=list)

    def add(self, tensor: _Tensor) -> int:
        self.tensors.append(tensor)
        return len(self.tensors) - 1


def write_dense(
    path: Path,
    layers: Sequence[Layer],
    kind: Kind = "float32",
    *,
    calibration: Floats | None = None,
    names: tuple[str, str] = ("input", "output"),
    open_batch: bool = True,
) -> Path:
    """Write a dense network from ``float32[N, inputs]`` to ``float32[N, outputs]``.

    Args:
        kind: What weights are stored in, and with ``int8`` activations, inputs and outputs too.
        calibration: ``float32[n, inputs]`` that ranges of activations are taken from; for ``int8``.
        names: Of the input and the output.
        open_batch: Whether the file says that it takes any number of rows, or only one.

    Raises:
        ValueError: ``int8`` without calibration inputs.
    """
    if kind == "int8" and calibration is None:
        raise ValueError("ranges of activations need calibration inputs")
    ranges = _ranges(layers, calibration) if kind == "int8" and calibration is not None else None
    network = _Network()
    first = len(layers[0].weight)
    at = network.add(_activation(names[0], first, ranges[0] if ranges else None))
    for number, layer in enumerate(layers):
        last = number == len(layers) - 1
        weight = _weight(network, f"weight{number}", layer.weight.T, kind)
        bias = network.add(_bias(network, f"bias{number}", layer.bias, at, weight, kind))
        name = names[1] if last else f"dense{number}"
        limits = ranges[number + 1] if ranges else None
        out = network.add(_activation(name, len(layer.bias), limits))
        rectifier: Fields = {"rectifier": (0, "Int8", 0 if last else _RELU)}
        step = _Step(_FULLY_CONNECTED, (at, weight, bias), out, rectifier)
        network.steps.append(step)
        at = out
    if not open_batch:
        network.tensors = [replace(tensor, open_batch=False) for tensor in network.tensors]
    path.write_bytes(_encode(network, 0, at, _VERSIONS[kind]))
    return path


def write_convolutional(path: Path, *, channels: int = 4, seed: int = 0) -> Path:
    """Write a network from ``float32[1, 8, 8, 3]`` to ``float32[1, 4, 4, channels]``.

    A strided 3x3 convolution, then a depthwise one with a skip around it.
    """
    rng = np.random.default_rng(seed)
    network = _Network()
    image = network.add(_Tensor("image", (1, 8, 8, 3), "float32"))

    def weights(name: str, *shape: int) -> int:
        values = rng.standard_normal(shape).astype("<f4").tobytes()
        return network.add(_Tensor(name, shape, "float32", values))

    strides: Fields = {"padding": (0, "Int8", _SAME), "w": (1, "Int32", 2), "h": (2, "Int32", 2)}
    dilation: Fields = {"dilated_w": (4, "Int32", 1), "dilated_h": (5, "Int32", 1)}
    first = network.add(_Tensor("first", (1, 4, 4, channels), "float32"))
    reads = (image, weights("kernel", channels, 3, 3, 3), weights("bias", channels))
    network.steps.append(_Step(_CONV_2D, reads, first, strides | dilation))
    strides = {"padding": (0, "Int8", _SAME), "w": (1, "Int32", 1), "h": (2, "Int32", 1)}
    dilation = {
        "multiplier": (3, "Int32", 1), "dilated_w": (5, "Int32", 1), "dilated_h": (6, "Int32", 1),
    }  # fmt: skip
    second = network.add(_Tensor("second", (1, 4, 4, channels), "float32"))
    reads = (first, weights("depthwise", 1, 3, 3, channels), weights("bias2", channels))
    network.steps.append(_Step(_DEPTHWISE_CONV_2D, reads, second, strides | dilation))
    result = network.add(_Tensor("result", (1, 4, 4, channels), "float32"))
    network.steps.append(_Step(_ADD, (first, second), result, {"rectifier": (0, "Int8", 0)}))
    path.write_bytes(_encode(network, image, result, 1))
    return path


def _ranges(layers: Sequence[Layer], x: Floats) -> list[tuple[float, float]]:
    """Least and greatest value of the input and of each layer's output; zero is within."""
    found = [(float(min(x.min(), 0)), float(max(x.max(), 0)))]
    for number, layer in enumerate(layers):
        x = x @ layer.weight + layer.bias
        if number < len(layers) - 1:
            x = np.maximum(x, 0)
        found.append((float(min(x.min(), 0)), float(max(x.max(), 0))))
    return found


def _activation(name: str, width: int, limits: tuple[float, float] | None) -> _Tensor:
    if limits is None:
        return _Tensor(name, (1, width), "float32", open_batch=True)
    low, high = limits
    scale = (high - low) / 255 or 1.0
    zero = round(-128 - low / scale)
    return _Tensor(name, (1, width), "int8", b"", scale, zero, open_batch=True)


def _weight(network: _Network, name: str, values: Floats, kind: Kind) -> int:
    shape = values.shape
    if kind == "float32":
        return network.add(_Tensor(name, shape, "float32", values.astype("<f4").tobytes()))
    if kind == "float16":
        stored = network.add(
            _Tensor(f"{name}.half", shape, "float16", values.astype("<f2").tobytes())
        )
        whole = network.add(_Tensor(name, shape, "float32"))
        network.steps.append(_Step(_DEQUANTIZE, (stored,), whole))
        return whole
    scale = float(np.abs(values).max()) / 127 or 1.0
    data = np.rint(values / scale).astype(np.int8).tobytes()
    return network.add(_Tensor(name, shape, "int8", data, scale))


def _bias(
    network: _Network, name: str, values: Floats, source: int, weight: int, kind: Kind
) -> _Tensor:
    if kind != "int8":
        return _Tensor(name, values.shape, "float32", values.astype("<f4").tobytes())
    scale = network.tensors[source].scale * network.tensors[weight].scale
    data = np.rint(values / scale).astype("<i4").tobytes()
    return _Tensor(name, values.shape, "int32", data, scale)


class _Builder:
    """Tables of a FlatBuffers file, innermost first."""

    def __init__(self) -> None:
        self.raw = flatbuffers.Builder(1024)

    def table(self, **fields: tuple[int, str, float]) -> int:
        """A table; each field is its number in the schema, its kind and its value."""
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
        # Kernels read weights in vectors, so the schema wants them aligned.
        self.raw.StartVector(1, len(values), 16)
        self.raw.head -= len(values)
        self.raw.Bytes[self.raw.head : self.raw.head + len(values)] = values
        return int(self.raw.EndVector())


def _encode(network: _Network, source: int, result: int, version: int) -> bytes:
    build = _Builder()
    # Buffer 0 is empty by convention; tensors without data name it.
    held = [tensor for tensor in network.tensors if tensor.data]
    buffers = [build.table()]
    buffers += [build.table(data=(0, "offset", build.data(tensor.data))) for tensor in held]
    places = {tensor.name: number for number, tensor in enumerate(held, 1)}
    tensors = [_tensor(build, tensor, places.get(tensor.name, 0)) for tensor in network.tensors]
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
            version=(2, "Int32", version if code == _FULLY_CONNECTED else 1),
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


def _tensor(build: _Builder, tensor: _Tensor, buffer: int) -> int:
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


def _step(build: _Builder, used: Sequence[int], step: _Step) -> int:
    fields: Fields = {
        "code": (0, "Uint32", used.index(step.code)),
        "inputs": (1, "offset", build.numbers(step.sources, "Int32", 4)),
        "outputs": (2, "offset", build.numbers([step.result], "Int32", 4)),
    }
    if step.code in _OPTIONS_OF:
        fields["kind"] = (3, "Uint8", _OPTIONS_OF[step.code])
        fields["options"] = (4, "offset", build.table(**step.options))
    return build.table(**fields)
