"""Samples that are published with a model: ``samples.npz``.

::

    inputs/<tensor>   [n, ...]   one per input
    labels            int64[n]   of a classifier whose first output is scores [n, classes]
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import cast

import numpy as np

from hpcfair.errors import BadInput
from hpcfair.exporters.base import Examples, Files
from hpcfair.exporters.frames import plain
from hpcfair.formats import NETWORK_FORMATS, opener_of
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Array

NAME = "samples.npz"
_CONSTANTS = (NoneType, bool, int, float, str)


def as_examples(examples: Examples | Array) -> Examples:
    """Turn a single array, tensor or table into a tuple.

    Raises BadInput if one of several is a constant.
    """
    if examples is None:
        return None
    if not isinstance(examples, Mapping | list | tuple):
        return (cast("Array", examples),)
    named = examples.items() if isinstance(examples, Mapping) else enumerate(examples, 1)
    for name, value in named:
        if type(value) in _CONSTANTS:
            raise BadInput(
                f"Example input {name} is {value!r}, no array.",
                "Each input is an array with rows. To fix an argument, save a model that calls "
                "this one with it.",
            )
    return examples


def add_samples(files: Files, examples: Examples, labels: Array | None, scratch: Path) -> Files:
    """``files`` with a samples file of ``examples``; unchanged without examples.

    Raises BadInput if there are labels without examples or of another number, or the names of the
    inputs are neither given nor determined by exactly one network.
    """
    if examples is None:
        if labels is not None:
            raise BadInput("Labels need the inputs they belong to.", "Pass example_inputs too.")
        return files
    named = dict(examples) if isinstance(examples, Mapping) else _named(files, examples)
    try:
        arrays = {f"inputs/{name}": plain(array) for name, array in named.items()}
        if labels is not None:
            arrays["labels"] = np.asarray(labels, np.int64)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise BadInput(
            f"Example inputs and labels must be arrays: {error}.", "Labels are numbers of classes."
        ) from error
    rows = {len(array) if array.ndim else 0 for array in arrays.values()}
    if len(rows) != 1 or 0 in rows:
        raise BadInput(
            f"Example inputs and labels must have equally many rows, not {sorted(rows)}.",
            "The leading dimension of each array counts samples.",
        )
    local = scratch / NAME
    np.savez_compressed(local, **arrays)  # type: ignore[arg-type]
    return {**files, NAME: local}


def _named(files: Files, examples: Sequence[Array]) -> dict[str, Array]:
    by_format = (
        [local for path, local in files.items() if file_format.matches(path)]
        for file_format in NETWORK_FORMATS
    )
    graphs = next(filter(None, by_format), [])
    if len(graphs) != 1:
        raise BadInput(
            f"The names of the inputs are ambiguous: there are {len(graphs)} networks.",
            "Pass example_inputs as a dictionary by input name.",
        )
    names = _input_names(graphs[0])
    if len(names) != len(examples):
        raise BadInput(
            f"{len(examples)} example inputs were given, the model takes {len(names)}.",
            f"In their order: {', '.join(names)}.",
        )
    return dict(zip(names, examples, strict=True))


def _input_names(graph: Path) -> list[str]:
    opener = opener_of(graph)
    runtime = registry.open(opener.runtime, graph, opener.reference)
    names = [tensor.name for tensor in runtime.inputs]
    runtime.close()
    return names
