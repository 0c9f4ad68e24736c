"""The part of an export of trees that the libraries have in common."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.exporters.base import Examples, Export, only, refusal
from hpcfair.exporters.trees.ensemble import Ensemble
from hpcfair.exporters.trees.graph import model_of
from hpcfair.runtimes.base import Array


def export_trees(
    ensemble: Ensemble, outputs: Sequence[Callable[[Array], Any]], examples: Examples, scratch: Path
) -> Export:
    """One ONNX file, whose input has the name and element type of the example.

    Args:
        outputs: What the live model computes for the outputs of the file, in their order.
    """
    ((name, array),) = only("tree", examples).items()
    if not ensemble.trees:
        raise refusal("model of trees", "there are none")
    local = scratch / "model.onnx"
    local.write_bytes(model_of(ensemble, name, array.dtype).SerializeToString())
    return Export(
        {"model.onnx": local},
        lambda arrays: [np.asarray(run(*arrays)) for run in outputs],
        {name: array},
    )


def class_labels(classes: Iterable[Any]) -> tuple[int | str, ...]:
    """Labels of classes as ONNX can hold them: all integers, or all text."""
    labels = tuple(classes)
    if all(isinstance(label, str) for label in labels):
        return tuple(map(str, labels))
    if all(float(label).is_integer() for label in labels):
        return tuple(map(int, labels))
    return tuple(map(str, labels))
