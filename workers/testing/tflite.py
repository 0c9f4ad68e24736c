"""Writes TensorFlow Lite files of small networks, without TensorFlow.

Quantisation follows TensorFlow Lite's "8-bit quantization specification": symmetric weights,
activations ``(stored - zero) * scale``, int32 biases with the scale ``scale(input) *
scale(weights)``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from workers.testing.tflite_encoding import (
    ADD,
    CONV_2D,
    DEPTHWISE_CONV_2D,
    DEQUANTIZE,
    FULLY_CONNECTED,
    Draft,
    EncodedOperator,
    Fields,
    StoredTensor,
    encode,
)

Floats = npt.NDArray[np.float32]
Kind = Literal["float32", "float16", "int8-weights", "int8"]
#: Version of the operator that takes these element types, from TensorFlow Lite's op_version.cc.
_VERSIONS = {"float32": 1, "float16": 1, "int8-weights": 3, "int8": 4}
_SAME, _RELU = 0, 1


@dataclass(frozen=True, slots=True)
class Layer:
    """A dense layer ``y = x @ weight + bias``, with a ReLU on all layers but the last. Shapes:
    weight ``float32[inputs, outputs]``, bias ``float32[outputs]``."""

    weight: Floats
    bias: Floats


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
        kind: Element type of weights; with ``int8`` also of activations, inputs and outputs.
        calibration: ``float32[n, inputs]`` for the ranges of activations; required for ``int8``
            (ValueError).
        names: Names of the input and the output.
        open_batch: Whether the batch size is dynamic, instead of 1.
    """
    if kind == "int8" and calibration is None:
        raise ValueError("ranges of activations need calibration inputs")
    ranges = _ranges(layers, calibration) if kind == "int8" and calibration is not None else None
    network = Draft()
    first = len(layers[0].weight)
    at = network.add(_activation(names[0], first, ranges[0] if ranges else None))
    for number, layer in enumerate(layers):
        last = number == len(layers) - 1
        weight = _weight(network, f"weight{number}", layer.weight.T, kind)
        bias = network.add(_bias(network, f"bias{number}", layer.bias, at, weight, kind))
        name = names[1] if last else f"dense{number}"
        limits = ranges[number + 1] if ranges else None
        out = network.add(_activation(name, len(layer.bias), limits))
        relu: Fields = {"activation": (0, "Int8", 0 if last else _RELU)}
        step = EncodedOperator(FULLY_CONNECTED, (at, weight, bias), out, relu)
        network.steps.append(step)
        at = out
    if not open_batch:
        network.tensors = [replace(tensor, open_batch=False) for tensor in network.tensors]
    path.write_bytes(encode(network, 0, at, _VERSIONS[kind]))
    return path


def write_convolutional(path: Path, *, channels: int = 4, seed: int = 0) -> Path:
    """Write a network from ``float32[1, 8, 8, 3]`` to ``float32[1, 4, 4, channels]``: a strided 3x3
    convolution, then a depthwise one with a residual connection."""
    rng = np.random.default_rng(seed)
    network = Draft()
    image = network.add(StoredTensor("image", (1, 8, 8, 3), "float32"))

    def weights(name: str, *shape: int) -> int:
        values = rng.standard_normal(shape).astype("<f4").tobytes()
        return network.add(StoredTensor(name, shape, "float32", values))

    strides: Fields = {"padding": (0, "Int8", _SAME), "w": (1, "Int32", 2), "h": (2, "Int32", 2)}
    dilation: Fields = {"dilated_w": (4, "Int32", 1), "dilated_h": (5, "Int32", 1)}
    first = network.add(StoredTensor("first", (1, 4, 4, channels), "float32"))
    reads = (image, weights("kernel", channels, 3, 3, 3), weights("bias", channels))
    network.steps.append(EncodedOperator(CONV_2D, reads, first, strides | dilation))
    strides = {"padding": (0, "Int8", _SAME), "w": (1, "Int32", 1), "h": (2, "Int32", 1)}
    dilation = {
        "multiplier": (3, "Int32", 1), "dilated_w": (5, "Int32", 1), "dilated_h": (6, "Int32", 1),
    }  # fmt: skip
    second = network.add(StoredTensor("second", (1, 4, 4, channels), "float32"))
    reads = (first, weights("depthwise", 1, 3, 3, channels), weights("bias2", channels))
    network.steps.append(EncodedOperator(DEPTHWISE_CONV_2D, reads, second, strides | dilation))
    result = network.add(StoredTensor("result", (1, 4, 4, channels), "float32"))
    network.steps.append(
        EncodedOperator(ADD, (first, second), result, {"activation": (0, "Int8", 0)})
    )
    path.write_bytes(encode(network, image, result, 1))
    return path


def _ranges(layers: Sequence[Layer], x: Floats) -> list[tuple[float, float]]:
    """Least and greatest value of the input and of each layer's output, zero included."""
    ranges = [(float(min(x.min(), 0)), float(max(x.max(), 0)))]
    for number, layer in enumerate(layers):
        x = x @ layer.weight + layer.bias
        if number < len(layers) - 1:
            x = np.maximum(x, 0)
        ranges.append((float(min(x.min(), 0)), float(max(x.max(), 0))))
    return ranges


def _activation(name: str, width: int, limits: tuple[float, float] | None) -> StoredTensor:
    if limits is None:
        return StoredTensor(name, (1, width), "float32", open_batch=True)
    low, high = limits
    scale = (high - low) / 255 or 1.0
    zero = round(-128 - low / scale)
    return StoredTensor(name, (1, width), "int8", b"", scale, zero, open_batch=True)


def _weight(network: Draft, name: str, values: Floats, kind: Kind) -> int:
    shape = values.shape
    if kind == "float32":
        return network.add(StoredTensor(name, shape, "float32", values.astype("<f4").tobytes()))
    if kind == "float16":
        stored = network.add(
            StoredTensor(f"{name}.half", shape, "float16", values.astype("<f2").tobytes())
        )
        whole = network.add(StoredTensor(name, shape, "float32"))
        network.steps.append(EncodedOperator(DEQUANTIZE, (stored,), whole))
        return whole
    scale = float(np.abs(values).max()) / 127 or 1.0
    data = np.rint(values / scale).astype(np.int8).tobytes()
    return network.add(StoredTensor(name, shape, "int8", data, scale))


def _bias(
    network: Draft, name: str, values: Floats, source: int, weight: int, kind: Kind
) -> StoredTensor:
    if kind != "int8":
        return StoredTensor(name, values.shape, "float32", values.astype("<f4").tobytes())
    scale = network.tensors[source].scale * network.tensors[weight].scale
    data = np.rint(values / scale).astype("<i4").tobytes()
    return StoredTensor(name, values.shape, "int32", data, scale)
