"""Example inputs that are tables: data frames of pandas and libraries of the same interface."""

from typing import Any

import numpy as np

from hpcfair.errors import BadInput
from hpcfair.runtimes.base import Array

_NUMBERS = "biuf"


def is_frame(value: Any) -> bool:
    """Whether an object is a table with named columns."""
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def matrix(value: Any) -> Array:
    """A table of numbers as one matrix, in the order of its columns. Other arrays are unchanged.

    Raises BadInput for a column that holds no numbers.
    """
    if not is_frame(value):
        return np.asarray(value)
    arrays = [_numbers(name, array) for name, array in columns(value).items()]
    return np.concatenate(arrays, axis=1)


def columns(frame: Any) -> dict[str, Array]:
    """The columns of a table as arrays ``[n, 1]``; text gets NumPy's type for it.

    Raises BadInput for a column of anything else.
    """
    arrays = {str(name): plain(frame[name].to_numpy())[:, None] for name in frame.columns}
    for name, array in arrays.items():
        if array.dtype.kind not in f"{_NUMBERS}U":
            raise BadInput(
                f"Column {name} of the example inputs holds {array.dtype} values.",
                "Columns of an ONNX file hold numbers, or text without missing values: fill them "
                "before, for example with df.fillna('').",
            )
    return arrays


def plain(value: Any) -> Array:
    """An array without Python objects where they can be avoided: of text, or of numbers of which
    some are missing."""
    array: Array = np.asarray(value)
    if array.dtype.kind != "O":
        return array
    if all(isinstance(value, str) for value in array.flat):
        return array.astype(np.str_)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return array


def _numbers(name: str, array: Array) -> Array:
    if array.dtype.kind in _NUMBERS:
        return array
    raise BadInput(
        f"Column {name} of the example inputs holds {array.dtype} values, no numbers.",
        "Pass the numbers that the model computes with, such as codes of categories; or save the "
        "pipeline of scikit-learn that encodes them.",
    )
