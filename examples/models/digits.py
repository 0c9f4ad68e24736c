"""Two classifiers trained on scikit-learn's bundled handwritten digits.

Of the 1,797 images 1,297 train; the other 500 are published as samples, in random order without
stratification, so that any contiguous part is a fair sample. Accuracy of a quantised build must
not be measured on the rows that calibrated it: use the first rows for one, the rest for the other.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from examples.models.folder import Card, reference_outputs, write_folder
from examples.models.training import (
    Floats,
    Parameters,
    accuracy,
    conv3x3,
    dense,
    he_normal,
    max_pool2,
    relu,
    train,
    zeros,
)
from workers.testing.tflite import Layer, write_dense

HELD_OUT = 500
#: Pixels are 0 to 16. Networks train on 0 to 1, and the published ones take unscaled pixels.
PIXEL_SCALE = 16.0
OPSET = 17
IR_VERSION = 8


@dataclass(frozen=True, slots=True)
class Split:
    """Images ``float32[n, 8, 8]`` with pixels 0 to 16, and labels ``int64[n]``."""

    train_images: Floats
    train_labels: npt.NDArray[np.int64]
    test_images: Floats
    test_labels: npt.NDArray[np.int64]


def split(seed: int) -> Split:
    """The digits, shuffled by ``seed`` and cut into a training and a held-out part."""
    # Imported here because it takes seconds, which other models do not need.
    from sklearn.datasets import load_digits  # noqa: PLC0415

    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    images = digits.images[order].astype(np.float32)
    labels = digits.target[order].astype(np.int64)
    return Split(images[HELD_OUT:], labels[HELD_OUT:], images[:HELD_OUT], labels[:HELD_OUT])


def digits_cnn(out: Path, seed: int = 0) -> Path:
    """Train a convolutional network of about 38,000 weights and write it to ``out``."""
    rng = np.random.default_rng(seed)
    parameters = [
        he_normal(rng, (3, 3, 1, 16), 9),
        zeros(16),
        he_normal(rng, (3, 3, 16, 32), 144),
        zeros(32),
        he_normal(rng, (512, 64), 512),
        zeros(64),
        he_normal(rng, (64, 10), 64),
        zeros(10),
    ]

    def network(p: Parameters, images: Floats) -> Floats:
        x = relu(conv3x3(images[..., None], p[0], p[1]))
        x = max_pool2(relu(conv3x3(x, p[2], p[3])))
        # Channels first before flattening, as the exported graph has them.
        x = x.transpose((0, 3, 1, 2)).reshape((len(images), 512))
        return dense(relu(dense(x, p[4], p[5])), p[6], p[7])

    same: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["conv1"], **same),
        helper.make_node("Relu", ["conv1"], ["relu1"]),
        helper.make_node("Conv", ["relu1", "conv2.weight", "conv2.bias"], ["conv2"], **same),
        helper.make_node("Relu", ["conv2"], ["relu2"]),
        helper.make_node("MaxPool", ["relu2"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pool"], ["flat"], axis=1),
        helper.make_node("Gemm", ["flat", "dense1.weight", "dense1.bias"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["relu3"]),
        helper.make_node("Gemm", ["relu3", "dense2.weight", "dense2.bias"], ["logits"]),
    ]
    data = split(seed)
    pixels = data.train_images / PIXEL_SCALE
    p = train(network, parameters, pixels, data.train_labels, rng=rng, epochs=20)
    weights = {
        "conv1.weight": p[0].transpose(3, 2, 0, 1) / PIXEL_SCALE,
        "conv1.bias": p[1],
        "conv2.weight": p[2].transpose(3, 2, 0, 1),
        "conv2.bias": p[3],
        "dense1.weight": p[4],
        "dense1.bias": p[5],
        "dense2.weight": p[6],
        "dense2.bias": p[7],
    }
    model = _export("digits_cnn", nodes, weights, (1, 8, 8))
    return _publish(
        out,
        model,
        data,
        title="Digits CNN",
        kind="convolutional network (two 3x3 convolutions, one pooling, two dense layers)",
        shape=(1, 8, 8),
        tags=("digits", "cnn", "trained", "example"),
    )


def digits_mlp(out: Path, seed: int = 0) -> Path:
    """Train a perceptron with two hidden layers on flat pixels and write it to ``out``."""
    rng = np.random.default_rng(seed)
    sizes = [64, 128, 64, 10]
    parameters: Parameters = []
    for fan_in, fan_out in pairwise(sizes):
        parameters += [he_normal(rng, (fan_in, fan_out), fan_in), zeros(fan_out)]

    def network(p: Parameters, pixels: Floats) -> Floats:
        x = relu(dense(pixels, p[0], p[1]))
        x = relu(dense(x, p[2], p[3]))
        return dense(x, p[4], p[5])

    nodes: list[onnx.NodeProto] = []
    previous = "pixels"
    for layer in (1, 2, 3):
        result = "logits" if layer == 3 else f"dense{layer}"
        names = [previous, f"dense{layer}.weight", f"dense{layer}.bias"]
        nodes.append(helper.make_node("Gemm", names, [result]))
        if layer < 3:
            previous = f"relu{layer}"
            nodes.append(helper.make_node("Relu", [result], [previous]))
    data = split(seed)
    pixels = data.train_images.reshape(-1, 64) / PIXEL_SCALE
    trained = train(network, parameters, pixels, data.train_labels, rng=rng, epochs=60)
    weights = {
        f"dense{i // 2 + 1}.{'weight' if i % 2 == 0 else 'bias'}": value
        for i, value in enumerate(trained)
    }
    weights["dense1.weight"] = weights["dense1.weight"] / PIXEL_SCALE
    model = _export("digits_mlp", nodes, weights, (64,), name="pixels")
    folder = _publish(
        out,
        model,
        data,
        title="Digits MLP",
        kind="multi-layer perceptron (64-128-64-10)",
        shape=(64,),
        tags=("digits", "mlp", "trained", "example"),
    )
    _write_tflite(folder, weights, data.train_images.reshape(-1, 64))
    return folder


def _write_tflite(out: Path, weights: dict[str, Floats], pixels: Floats) -> None:
    """Write the perceptron as ``model.tflite`` (float32) and ``model-int8.tflite`` (calibrated)."""
    layers = [
        Layer(*(np.asarray(weights[f"dense{n}.{part}"], np.float32) for part in ("weight", "bias")))
        for n in (1, 2, 3)
    ]
    names = ("pixels", "logits")
    write_dense(out / "model.tflite", layers, names=names)
    write_dense(out / "model-int8.tflite", layers, "int8", calibration=pixels, names=names)


def _export(
    title: str,
    nodes: list[onnx.NodeProto],
    weights: dict[str, Floats],
    shape: tuple[int, ...],
    *,
    name: str = "image",
) -> onnx.ModelProto:
    """A float32 model from ``name [N, *shape]`` to ``logits [N, 10]``."""
    graph = helper.make_graph(
        nodes,
        title,
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", *shape])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 10])],
        [
            numpy_helper.from_array(np.ascontiguousarray(value, np.float32), key)
            for key, value in weights.items()
        ],
    )
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="hpcfair.examples",
    )


def _publish(
    out: Path,
    model: onnx.ModelProto,
    data: Split,
    *,
    title: str,
    kind: str,
    shape: tuple[int, ...],
    tags: tuple[str, ...],
) -> Path:
    """Measure the exported network on the held-out part and write its folder."""
    name = model.graph.input[0].name
    inputs = {name: data.test_images.reshape(-1, *shape).astype(np.float32)}
    outputs = reference_outputs(model, inputs)
    score = accuracy(outputs["logits"], data.test_labels)
    result = {
        "task": {"type": "image-classification"},
        "dataset": {"name": "Optical Recognition of Handwritten Digits", "type": "uci/digits"},
        "metrics": [{"type": "accuracy", "value": round(score, 4)}],
    }
    card = Card(
        title=title,
        license="apache-2.0",
        task="image-classification",
        tags=tags,
        description=(
            f"A small {kind} that reads one handwritten digit from an 8x8 grey image. "
            f"Trained on scikit-learn's bundled digits; {score:.1%} of {HELD_OUT} held-out "
            "images are read correctly."
        ),
        body=_body(name, shape),
        front_matter={"model-index": [{"name": title, "results": [result]}]},
    )
    return write_folder(
        out, model=model, card=card, inputs=inputs, outputs=outputs, labels=data.test_labels
    )


def _body(name: str, shape: tuple[int, ...]) -> str:
    dimensions = ", ".join(str(size) for size in shape)
    return f"""
## Use
Input `{name}`: `float32[N, {dimensions}]`, pixels from 0 (paper) to 16 (ink), as
`sklearn.datasets.load_digits` gives them. Output `logits`: `float32[N, 10]`; the largest names
the digit.

## Data
1,797 images of the Optical Recognition of Handwritten Digits set (E. Alpaydin and C. Kaynak, UCI
Machine Learning Repository, CC BY 4.0): 1,297 for training, {HELD_OUT} held out.
`samples.npz` holds the held-out images, the network's own outputs and the true labels in random
order. Rows used to calibrate a quantised build must not be used to measure its accuracy.

## Limits
A teaching example. The images are centred, 8x8 and by 43 writers; scanned digits from elsewhere
need the same preprocessing, and a photograph will not work.
"""
