"""Cases of Keras 3. ``KERAS_BACKEND`` chooses the backend."""

from typing import Any

import keras
import numpy as np

from tests.frameworks.cases.live import NEW, Live

WORDS = np.random.default_rng(4).integers(0, 10, (len(NEW), 5)).astype(np.int32)


@keras.saving.register_keras_serializable()
class Doubled(keras.layers.Layer):  # type: ignore[misc]
    """A layer of the author's."""

    def call(self, x: Any) -> Any:
        """Twice the values."""
        return 2 * keras.ops.tanh(x)


def functional() -> Live:
    """Two inputs, two outputs, a layer of the author's, normalisation and dropout."""
    keras.utils.set_random_seed(0)
    table, words = keras.Input((4,), name="table"), keras.Input((5,), name="words", dtype="int32")
    meaning = keras.layers.Flatten()(keras.layers.Embedding(10, 2)(words))
    hidden = keras.layers.Concatenate()([Doubled()(keras.layers.Dense(8)(table)), meaning])
    hidden = keras.layers.Dropout(0.5)(keras.layers.BatchNormalization()(hidden))
    score = keras.layers.Dense(3, activation="softmax")(hidden)
    model = keras.Model([table, words], {"age": keras.layers.Dense(1)(hidden), "score": score})
    outputs = model([NEW, WORDS], training=False)
    named = {name: keras.ops.convert_to_numpy(value) for name, value in outputs.items()}
    return Live(model, (NEW, WORDS), {"table": NEW, "words": WORDS}, named)


def sequential() -> Live:
    """Pictures."""
    keras.utils.set_random_seed(0)
    layers = [
        keras.Input((8, 8, 1), name="picture"),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(3, name="score"),
    ]
    model = keras.Sequential(layers)
    pictures = np.random.default_rng(5).normal(size=(30, 8, 8, 1)).astype(np.float32)
    output = keras.ops.convert_to_numpy(model(pictures, training=False))
    return Live(model, (pictures,), {"picture": pictures}, {"score": output})
