"""Cases of TensorFlow without Keras."""

import tempfile
from typing import Any

import numpy as np
import tensorflow as tf

from tests.frameworks.cases.live import NEW, Live


class Field(tf.Module):  # type: ignore[misc]
    """Two inputs, two outputs by name."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(0)
        self.weight = tf.Variable(rng.normal(size=(4, 3)).astype(np.float32))

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 4], tf.float32, name="left"),
            tf.TensorSpec([None, 4], tf.float32, name="right"),
        ]
    )
    def __call__(self, left: Any, right: Any) -> dict[str, Any]:
        product = tf.matmul(tf.nn.relu(left), self.weight)
        return {"closeness": tf.reduce_sum(left * right, axis=1), "product": product}


def function() -> Live:
    """A module whose ``__call__`` is under ``tf.function``."""
    field = Field()
    return _live(field, field)


def saved_model() -> Live:
    """The folder of a SavedModel."""
    field = Field()
    folder = tempfile.mkdtemp()
    tf.saved_model.save(field, folder, signatures=field.__call__)
    return _live(folder, field)


def _live(model: Any, field: Field) -> Live:
    right = NEW[::-1].copy()
    outputs = {name: value.numpy() for name, value in field(NEW, right).items()}
    inputs = {"left": NEW, "right": right}
    return Live(model, inputs, inputs, outputs)
