"""Models of Keras on PyTorch, exported by Keras itself."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.exports.drawing import Export
from benchmarks.exports.live import generator, signals
from benchmarks.exports.sizes import ORDINARY, Sizes

os.environ["KERAS_BACKEND"] = "torch"
import keras


@dataclass
class KerasModel:
    """A :class:`~benchmarks.exports.live.LiveModel` of Keras."""

    model: Any
    inputs: Mapping[str, npt.NDArray[Any]]
    labels: npt.NDArray[np.int64] | None = None

    def outputs(self) -> list[npt.NDArray[Any]]:
        """See :meth:`benchmarks.exports.live.LiveModel.outputs`."""
        (samples,) = self.inputs.values()
        return [np.asarray(self.model.predict(samples, verbose=0))]

    def write(self, export: Export, folder: Path) -> None:
        """See :meth:`benchmarks.exports.live.LiveModel.write`."""
        (samples,) = self.inputs.values()
        rows = None if export.is_dynamic else 1
        spec = keras.InputSpec(dtype="float32", shape=(rows, *samples.shape[1:]), name="input")
        self.model.export(
            str(folder / "model.onnx"),
            format="onnx",
            verbose=False,
            input_signature=[spec],
            opset_version=export.opset,
        )


def _model(layers: list[Any], shape: tuple[int, ...], sizes: Sizes) -> KerasModel:
    keras.utils.set_random_seed(sizes.seed())
    model = keras.Sequential([keras.Input(shape), *layers])
    space = tuple(range(1, len(shape)))
    samples = signals(generator(sizes.seed()), sizes.scale, shape, space)
    if sizes.scale == ORDINARY:
        # Batch normalisations get the statistics of the samples.
        model(samples, training=True)
    return KerasModel(model, {"input": samples})


def keras_cnn(sizes: Sizes) -> KerasModel:
    width, size = sizes.choice((16, 32), (48, 64)), sizes.choice((48, 64), (224,))
    layers = [
        keras.layers.Conv2D(width, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(2 * width, 3, padding="same"),
        keras.layers.BatchNormalization(momentum=sizes.value(0.99, 0.0)),
        keras.layers.Activation("relu"),
        *(keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(20, activation="softmax")),
    ]
    return _model(layers, (size, size, 3), sizes)


def keras_mlp(sizes: Sizes) -> KerasModel:
    width = sizes.choice((64, 128, 256), (256, 512))
    layers = [
        keras.layers.Dense(width, activation="gelu"),
        *(keras.layers.LayerNormalization(), keras.layers.Dropout(0.2)),
        keras.layers.Dense(width, activation="swish"),
        keras.layers.Dense(3),
    ]
    return _model(layers, (sizes.choice((16, 32), (32, 64)),), sizes)


def keras_separable(sizes: Sizes) -> KerasModel:
    width, size = sizes.choice((16, 24), (32, 48)), sizes.choice((48, 64), (160, 224))
    # Keras's default lets the signal of these layers vanish.
    weights = sizes.value("glorot_uniform", "he_normal")
    conv = partial(keras.layers.Conv2D, kernel_initializer=weights)
    layers = [
        conv(width, 3, strides=2, padding="same", activation="relu6"),
        keras.layers.SeparableConv2D(
            *(2 * width, 3),
            padding="same",
            activation="relu",
            depthwise_initializer=weights,
            pointwise_initializer=weights,
        ),
        keras.layers.UpSampling2D(2),
        keras.layers.Conv2DTranspose(
            width, 3, strides=2, padding="same", kernel_initializer=weights
        ),
        *(keras.layers.LeakyReLU(), conv(2, 1, activation="sigmoid")),
    ]
    return _model(layers, (size, size, 1), sizes)
