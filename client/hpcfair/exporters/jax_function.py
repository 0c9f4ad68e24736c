"""Exports functions of JAX and modules of Flax with jax2onnx."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import jax
import jax2onnx
import numpy as np
import onnx

from hpcfair.errors import BadInput
from hpcfair.exporters.base import Examples, Export, Outputs, refusal
from hpcfair.exporters.naming import BATCH, named_inputs, numbered, parameters_of, rename
from hpcfair.runtimes.base import Array

#: The newest version that all backends read.
_OPSET = 21


def export(model: Any, examples: Examples, scratch: Path) -> Export:
    """``model.onnx`` of a function under ``jax.jit``, an ``nnx.Module`` or a bound linen module."""
    function = _function(model)
    count = len(examples or ())
    arrays = named_inputs(examples, parameters_of(function, count))
    return export_function(function, arrays, scratch)


def export_function(
    function: Callable[..., Any], inputs: dict[str, Array], scratch: Path
) -> Export:
    """``model.onnx`` of a function of arrays, whose leading dimension is dynamic unless the
    function works with the number of rows of the examples only."""
    if not inputs:
        raise BadInput(
            "A function of JAX needs example inputs.",
            "Pass example_inputs=(x,) with arrays as it takes them, some rows each.",
        )
    arrays = {name: np.asarray(array) for name, array in inputs.items()}
    for name, array in arrays.items():
        if jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype:
            raise BadInput(
                f"Input {name} is {array.dtype}, JAX computes in 32 bits here.",
                "Pass 32-bit example inputs, or set jax_enable_x64 before the model is made.",
            )
    leaves = jax.tree_util.tree_flatten_with_path(function(*arrays.values()))[0]
    outputs = [_path(path) for path, _ in leaves]
    if len(set(outputs)) < len(outputs) or "" in outputs:
        outputs = numbered("output", len(outputs))
    proto = _convert(function, list(arrays.values()))
    rename(proto, list(arrays), outputs)
    local = scratch / "model.onnx"
    onnx.save(proto, local)

    def predict(batch: Sequence[Array]) -> Outputs:
        return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(function(*batch))]

    return Export({"model.onnx": local}, predict)


def _function(model: Any) -> Callable[..., Any]:
    kinds = {kind.__module__.partition(".")[2] for kind in type(model).__mro__}
    if any(kind.startswith("nnx") for kind in kinds):
        from flax import nnx  # noqa: PLC0415  a program with JAX alone has no Flax

        # Evaluation mode is a state of the module, which must not be changed.
        copy = nnx.clone(model)
        copy.eval()
        return cast("Callable[..., Any]", copy)
    if hasattr(model, "scope") and model.scope is None:
        raise refusal(
            "Flax module",
            "a linen module holds no weights",
            "Save module.bind(variables), or jax.jit(functools.partial(module.apply, variables)).",
        )
    return cast("Callable[..., Any]", model)


def _convert(function: Callable[..., Any], arrays: Sequence[Array]) -> Any:
    has_64_bits = any(array.dtype.itemsize == 8 for array in arrays)

    def convert(batch: str | int) -> Any:
        shapes = [jax.ShapeDtypeStruct((batch, *a.shape[1:]), a.dtype) for a in arrays]
        return jax2onnx.to_onnx(function, shapes, opset=_OPSET, enable_double_precision=has_64_bits)

    try:
        return convert(BATCH)
    # jax2onnx raises arbitrary exceptions, also for a number of rows that must be fixed. The first
    # one says more.
    except Exception as error:
        with suppress(Exception):
            return convert(len(arrays[0]))
        raise refusal("function of JAX", error) from error


def _path(path: Sequence[Any]) -> str:
    """``scores`` or ``head_scores`` of a value in dictionaries and named tuples."""
    parts = (getattr(key, "key", getattr(key, "name", getattr(key, "idx", ""))) for key in path)
    return "_".join(map(str, parts)) if path and not hasattr(path[0], "idx") else ""
