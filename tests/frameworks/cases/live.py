"""What a case is: a live object of a framework, and what it computes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

RNG = np.random.default_rng(0)
#: 200 rows of four features; the last one counts.
X = RNG.normal(size=(200, 4)).astype(np.float32)
X[:, 3] = RNG.integers(0, 5, 200)
#: The same with missing values.
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X).astype(np.float32)
#: Three classes by number and by name, and amounts above zero.
CLASSES = np.digitize(X[:, 0], (-0.5, 0.5))
COLOURS = np.array(["blue", "green", "red"])[CLASSES]
AMOUNTS = np.exp(X[:, 0]) + (X[:, 3] % 2)
#: Rows that no case is trained on: a value that equals a threshold may take either branch once
#: it was scaled.
NEW = np.random.default_rng(1).normal(size=(120, 4)).astype(np.float32)
NEW[:, 3] = np.random.default_rng(2).integers(0, 5, 120)
NEW_GAPS = np.where(np.random.default_rng(3).random(NEW.shape) < 0.1, np.nan, NEW)


@dataclass(frozen=True)
class Live:
    """A live object.

    Attributes:
        model: What is passed to ``save``.
        examples: ``example_inputs`` of ``save``.
        inputs: Arrays by name, as the loaded model takes them.
        outputs: What the live object computes from them, by the names of the file.
    """

    model: Any
    examples: Any
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


def classifier(model: Any, x: Any) -> Live:
    """A classifier of a matrix."""
    outputs = {"probabilities": model.predict_proba(x), "label": np.ravel(model.predict(x))}
    return Live(model, (x,), {"features": x}, outputs)


def regressor(model: Any, x: Any, outputs: Any = None) -> Live:
    """A regressor of a matrix."""
    predicted = model.predict(x) if outputs is None else outputs
    return Live(model, (x,), {"features": x}, {"prediction": predicted})
