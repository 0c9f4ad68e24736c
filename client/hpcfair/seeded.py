"""Random inputs for a network, the same in every run."""

from collections.abc import Sequence

import numpy as np

from hpcfair.decoder import DecoderInputs
from hpcfair.errors import NotSupported
from hpcfair.runtimes.base import Array, TensorInfo

#: Exclusive upper bound of random integers: valid as token or class of every network.
_INTEGERS_BELOW = 2
#: Size of open dimensions other than the first: enough pixels or tokens for most networks.
_OPEN_SIZE = 32
_SEED = 0


def seeded_inputs(tensors: Sequence[TensorInfo], rows: int) -> dict[str, Array]:
    """Arrays by input name.

    Args:
        rows: Size of the first dimension where it is open. Dimensions of one name have one size.

    Raises NotSupported: an input is text.
    """
    rng = np.random.default_rng(_SEED)
    # Unnamed dimensions are not one dimension.
    leading = {tensor.shape[0] for tensor in tensors if tensor.shape} - {"?"}
    dimensions = {size for tensor in tensors for size in tensor.shape if isinstance(size, str)}
    named = {name: rows if name in leading else _OPEN_SIZE for name in dimensions}
    if decoder := DecoderInputs.of(tensors):
        named = decoder.with_mask_length(named | decoder.further_sizes(_OPEN_SIZE))
    arrays = {}
    for tensor in tensors:
        if tensor.dtype in {"string", "bfloat16"}:
            raise NotSupported(f"Input {tensor.name!r} is {tensor.dtype}: no random ones are made.")
        sizes = [size if isinstance(size, int) else named[size] for size in tensor.shape]
        if tensor.shape and tensor.shape[0] == "?":
            sizes[0] = rows
        arrays[tensor.name] = _random(rng, tuple(sizes), np.dtype(tensor.dtype))
    return arrays


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, _INTEGERS_BELOW, shape).astype(dtype)
