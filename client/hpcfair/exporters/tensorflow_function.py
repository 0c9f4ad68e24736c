"""Exports functions of TensorFlow and SavedModels with tf2onnx."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import tensorflow as tf
import tf2onnx

from hpcfair.errors import BadInput
from hpcfair.exporters.base import Examples, Export, Outputs, refusal
from hpcfair.exporters.naming import named_inputs, numbered, parameters_of, rename
from hpcfair.runtimes.base import Array

#: The newest version that tf2onnx writes.
_OPSET = 18
_SIGNATURE = "serving_default"


def export(model: Any, examples: Examples, scratch: Path) -> Export:
    """``model.onnx`` of a function under ``tf.function``, a signature of a SavedModel, a
    ``tf.Module`` whose ``__call__`` is such a function, or the folder of a SavedModel."""
    if not examples:
        raise BadInput(
            "A function of TensorFlow needs example inputs.",
            "Pass example_inputs=(x,) with arrays as it takes them, some rows each.",
        )
    # Functions refer to the variables of their owner weakly: it must live as long as they do.
    owner = tf.saved_model.load(str(model)) if isinstance(model, Path) else model
    function = _function(owner)
    keywords = _keywords(function)
    names = keywords or parameters_of(getattr(function, "python_function", function), len(examples))
    arrays = {name: np.asarray(array) for name, array in named_inputs(examples, names).items()}
    if keywords and set(keywords) != set(arrays):
        raise BadInput(
            f"The signature takes {', '.join(keywords)}; example inputs are {', '.join(arrays)}.",
            "Name the example inputs as the signature does.",
        )

    def call(*batch: Any) -> Any:
        return function(**dict(zip(arrays, batch, strict=True))) if keywords else function(*batch)

    outputs = _output_names(call(*map(tf.constant, arrays.values())))
    proto = _convert(call, arrays)
    rename(proto, list(arrays), outputs)
    local = scratch / "model.onnx"
    onnx.save(proto, local)

    return Export({"model.onnx": local}, partial(_predict, owner, call), arrays)


def _predict(_owner: Any, call: Callable[..., Any], batch: Sequence[Array]) -> Outputs:
    return [np.asarray(leaf) for leaf in tf.nest.flatten(call(*map(tf.constant, batch)))]


def _function(model: Any) -> Callable[..., Any]:
    signatures = getattr(model, "signatures", None)
    if signatures is not None:
        if _SIGNATURE not in signatures:
            raise refusal(
                "SavedModel",
                f"it has no signature {_SIGNATURE}, only {', '.join(signatures) or 'none'}",
                "Pass the signature itself: tf.saved_model.load(folder).signatures[name].",
            )
        model = signatures[_SIGNATURE]
    if isinstance(model, tf.Module):
        model = model.__call__
    if not callable(model):
        raise refusal("object of TensorFlow", "it is no function", "Save a tf.function.")
    return cast("Callable[..., Any]", model)


def _keywords(function: Any) -> list[str]:
    """Arguments of a signature, which takes them by name only; empty for other functions."""
    structure: Any = getattr(function, "structured_input_signature", ((), {}))
    return [] if structure[0] else list(structure[1])


def _output_names(results: Any) -> list[str]:
    """Keys of a dictionary or named tuple of tensors, in TensorFlow's order; numbers without."""
    count = len(tf.nest.flatten(results))
    names = sorted(results) if isinstance(results, Mapping) else getattr(results, "_fields", ())
    return list(names) if len(names) == count else numbered("output", count)


def _convert(call: Callable[..., Any], arrays: dict[str, Array]) -> onnx.ModelProto:
    def convert(batch: int | None) -> onnx.ModelProto:
        specs = [
            tf.TensorSpec((batch, *array.shape[1:]), array.dtype, name=name)
            for name, array in arrays.items()
        ]
        proto: onnx.ModelProto
        proto, _ = tf2onnx.convert.from_function(tf.function(call), specs, opset=_OPSET)
        return proto

    rows = len(next(iter(arrays.values())))
    try:
        return convert(None if _takes_one_row(call, arrays) else rows)
    # TensorFlow and tf2onnx raise arbitrary exceptions, also for a number of rows that must be
    # fixed. The first one says more.
    except Exception as error:
        with suppress(Exception):
            return convert(rows)
        raise refusal("function of TensorFlow", error) from error


def _takes_one_row(call: Callable[..., Any], arrays: dict[str, Array]) -> bool:
    try:
        call(*(tf.constant(array[:1]) for array in arrays.values()))
    # TensorFlow raises arbitrary exceptions.
    except Exception:  # noqa: BLE001
        return False
    return True
