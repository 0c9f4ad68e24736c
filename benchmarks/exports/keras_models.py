"""Models of Keras on PyTorch, exported by Keras itself."""

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.exports.drawing import Export
from benchmarks.exports.live import ROWS, generator

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


def _model(layers: list[Any], shape: tuple[int, ...], chance: random.Random) -> KerasModel:
    keras.utils.set_random_seed(chance.randrange(2**31))
    model = keras.Sequential([keras.Input(shape), *layers])
    samples = generator(chance.randrange(2**31)).standard_normal((ROWS, *shape))
    return KerasModel(model, {"input": samples.astype(np.float32)})


def keras_cnn(chance: random.Random) -> KerasModel:
    width, size = chance.choice((16, 32)), chance.choice((48, 64))
    layers = [
        keras.layers.Conv2D(width, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(2 * width, 3, padding="same"),
        *(keras.layers.BatchNormalization(), keras.layers.Activation("relu")),
        *(keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(20, activation="softmax")),
    ]
    return _model(layers, (size, size, 3), chance)


def keras_mlp(chance: random.Random) -> KerasModel:
    width = chance.choice((64, 128, 256))
    layers = [
        keras.layers.Dense(width, activation="gelu"),
        *(keras.layers.LayerNormalization(), keras.layers.Dropout(0.2)),
        keras.layers.Dense(width, activation="swish"),
        keras.layers.Dense(3),
    ]
    return _model(layers, (chance.choice((16, 32)),), chance)


def keras_separable(chance: random.Random) -> KerasModel:
    width, size = chance.choice((16, 24)), chance.choice((48, 64))
    layers = [
        keras.layers.Conv2D(width, 3, strides=2, padding="same", activation="relu6"),
        keras.layers.SeparableConv2D(2 * width, 3, padding="same", activation="relu"),
        keras.layers.UpSampling2D(2),
        keras.layers.Conv2DTranspose(width, 3, strides=2, padding="same"),
        *(keras.layers.LeakyReLU(), keras.layers.Conv2D(2, 1, activation="sigmoid")),
    ]
    return _model(layers, (size, size, 1), chance)
