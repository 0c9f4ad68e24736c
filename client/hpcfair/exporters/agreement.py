"""Compares an exported file with the live object that it was made from."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.errors import BadInput, HpcfairError, RuntimeFailed
from hpcfair.exporters.base import Examples, Outputs, Predict, refusal
from hpcfair.formats import opener_of
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Array, Runtime, TensorInfo

#: Rows of the examples that are compared.
_ROWS = 256
#: Largest difference in units of the largest value of the output. Float32 of two libraries differs
#: by 1e-7 to 1e-4; what is wrong differs by more than this.
_LIMIT = 1e-3
#: The same where the outputs have half the bits.
_LIMIT_HALF = 2e-2
_UNOPENED = (
    "ONNX Runtime lacks an operator, or has it for other element types: pass example inputs of the "
    "type that the model computes in, such as float32, and save bfloat16 weights as float32. Or "
    "export it to ONNX your own way, and save the file."
)


def check_agreement(what: str, network: Path, predict: Predict, examples: Examples) -> float:
    """Run an exported file and the live object on the examples, many rows and one row.

    Args:
        what: The object, for errors.

    Returns:
        The largest difference of numbers, in units of the largest value of their output.

    Raises:
        BadInput: they differ, or the examples do not fit; names the output, the place and the size
            of the difference.
        MissingPackage: ONNX Runtime is not installed.
    """
    opener = opener_of(network)
    try:
        runtime = registry.open(opener.runtime, network, opener.reference)
    except RuntimeFailed as error:
        raise refusal(
            what, f"the exported file cannot be opened: {error.detail}", _UNOPENED
        ) from error
    largest = 0.0
    try:
        arrays = _arrays(runtime, examples)
        for rows in _row_counts(runtime, arrays):
            batch = [array[:rows] for array in arrays]
            try:
                expected = predict(batch)
            # Libraries raise arbitrary exceptions.
            except Exception as error:
                raise refusal(
                    what,
                    error,
                    "It does not run on the example inputs: pass arrays as it takes them.",
                ) from error
            computed = _outputs(what, runtime, batch)
            largest = max(largest, _compare(what, computed, expected, runtime.outputs))
    finally:
        runtime.close()
    return largest


def _arrays(runtime: Runtime, examples: Examples) -> list[Array]:
    names = [tensor.name for tensor in runtime.inputs]
    if isinstance(examples, Mapping):
        if set(examples) != set(names):
            raise BadInput(
                f"The example inputs are {', '.join(examples)}; the model takes "
                f"{', '.join(names)}.",
                "Name them as the inputs of the model.",
            )
        return [np.asarray(examples[name]) for name in names]
    arrays = [np.asarray(array) for array in examples or ()]
    if len(arrays) != len(names):
        raise BadInput(
            f"{len(arrays)} example inputs were given, the model takes {len(names)}.",
            f"In their order: {', '.join(names)}.",
        )
    return arrays


def _row_counts(runtime: Runtime, arrays: Sequence[Array]) -> list[int]:
    """Numbers of rows to compare: the fixed one, or several and one."""
    sizes = [tensor.shape[0] for tensor in runtime.inputs if tensor.shape]
    fixed = [size for size in sizes if isinstance(size, int)]
    if fixed:
        return fixed[:1]
    most = min((len(array) for array in arrays if array.ndim), default=1)
    return sorted({1, min(most, _ROWS)}, reverse=True)


def _outputs(what: str, runtime: Runtime, batch: Sequence[Array]) -> list[Array]:
    named = {tensor.name: array for tensor, array in zip(runtime.inputs, batch, strict=True)}
    try:
        computed = runtime.run(named)
    except HpcfairError as error:
        raise refusal(what, f"the exported file does not run: {error.detail}") from error
    return [np.asarray(computed[tensor.name]) for tensor in runtime.outputs]


def _compare(
    what: str, actual: Sequence[Array], expected: Outputs, tensors: Sequence[TensorInfo]
) -> float:
    """The largest difference of all outputs; raises BadInput if one is too large."""
    largest = 0.0
    for tensor, computed, output in zip(tensors, actual, expected, strict=True):
        if output is None:
            continue
        reference = np.asarray(output)
        if np.squeeze(computed).shape != np.squeeze(reference).shape:
            raise refusal(
                what,
                f"output {tensor.name} of the exported file has the shape {computed.shape}, the "
                f"model's own has {reference.shape}",
            )
        distance, problem = _deviation(computed.reshape(reference.shape), reference)
        largest = max(largest, distance)
        if problem:
            raise refusal(
                what,
                f"output {tensor.name} of the exported file differs from the model's own {problem}",
                "Nothing was sent. If the model was trained on another element type, pass example "
                "inputs of that type; else export it to ONNX your own way.",
            )
    return largest


def difference(computed: Array, reference: Array) -> str:
    """Where two arrays of one shape differ and by how much; empty if they agree."""
    return _deviation(computed, reference)[1]


def _deviation(computed: Array, reference: Array) -> tuple[float, str]:
    """By how much two arrays of one shape differ, and where if they do not agree."""
    if reference.dtype.kind != "f" or computed.dtype.kind != "f":
        return 0.0, _unequal(computed.astype(reference.dtype), reference)
    a, b = (array.astype(np.float64) for array in (computed, reference))
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        lost = _place(np.isfinite(a) != np.isfinite(b))
        return math.inf, f"at {lost}: one of them is not finite"
    finite = np.isfinite(b)
    distance = np.abs(np.where(finite, a, 0) - np.where(finite, b, 0))
    scale = float(np.max(np.abs(b), where=finite, initial=0.0)) or 1.0
    largest = float(np.max(distance, initial=0.0)) / scale
    is_half = min(computed.dtype.itemsize, reference.dtype.itemsize) < 4
    limit = _LIMIT_HALF if is_half else _LIMIT
    if largest <= limit:
        return largest, ""
    place = np.unravel_index(int(np.argmax(distance)), distance.shape)
    return largest, (
        f"by {largest:.1e} of its largest value; at most {limit:g} is allowed. At "
        f"{list(map(int, place))}: {a[place]:.6g} instead of {b[place]:.6g}"
    )


def _unequal(computed: Array, reference: Array) -> str:
    differ: Any = np.asarray(computed != reference)
    if not differ.any():
        return ""
    place = tuple(_place(differ))
    return (
        f"in {int(differ.sum())} of {differ.size} values. At {list(place)}: {computed[place]} "
        f"instead of {reference[place]}"
    )


def _place(differ: Any) -> list[int]:
    return [int(index[0]) for index in np.nonzero(differ)]
