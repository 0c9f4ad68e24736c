"""The tensors that a record was timed on: the same samples, or random ones of the same kind."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.errors import BadInput
from hpcfair.runtimes.base import Array

#: Exclusive upper bound of random integers: valid as token or class of every network.
_INTEGERS_BELOW = 2


def timing_inputs(specs: Sequence[Mapping[str, Any]], samples: Path | None) -> dict[str, Array]:
    """Arrays by tensor name, with the shapes, types and distributions of ``identity.inputs``.

    Raises BadInput if the distribution is unknown or the revision's file ``samples`` lacks a tensor
    of this shape and type.
    """
    stored: dict[str, Array] = {}
    if samples is not None:
        with np.load(samples, allow_pickle=False) as archive:
            stored = {name: archive[name] for name in archive.files}
    seeds = [spec["seed"] for spec in specs if "seed" in spec]
    rng = np.random.default_rng(seeds[0] if seeds else 0)
    return {spec["name"]: _array(spec, stored, rng) for spec in specs}


def _array(spec: Mapping[str, Any], stored: Mapping[str, Array], rng: np.random.Generator) -> Array:
    shape, dtype = tuple(spec["shape"]), np.dtype(spec["dtype"])
    match spec["distribution"]:
        case "samples":
            return _first(spec["name"], stored, shape, dtype)
        case "normal":
            return rng.standard_normal(shape).astype(dtype)
        case "uniform":
            return rng.random(shape).astype(dtype)
        case "integers":
            return rng.integers(0, _INTEGERS_BELOW, shape).astype(dtype)
        case other:
            raise BadInput(f"Input {spec['name']!r} has an unknown distribution {other!r}.")


def _first(
    name: str, stored: Mapping[str, Array], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """The leading rows of the samples, or the first whole input where each row is one."""
    rows = stored.get(f"inputs/{name}")
    for candidate in () if rows is None or not len(rows) else (rows[: shape[0]], rows[0]):
        if candidate.shape == shape and candidate.dtype == dtype:
            return np.ascontiguousarray(candidate)
    raise BadInput(
        f"The revision's samples hold no {name!r} of shape {list(shape)}.",
        "The record cannot be repeated on the same inputs.",
    )
