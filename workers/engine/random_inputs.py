"""Seeded random tensors for the inputs of a network."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hpcfair.decoder import POSITIONS, DecoderInputs
from workers.engine.ports import Array
from workers.engine.sizes import MAX_RUN_BYTES, require_run_size, run_bytes
from workers.engine.types import Network, TensorSpec

#: Size of a named dimension without a stated one: small, yet large enough for a network that halves
#: an image five times. The leading dimension is the batch; latency is that of one sample. Halved
#: while the inputs of a network with many such dimensions are over their bound.
OPEN_SIZE = 32
#: Exclusive upper bound of integers: token ids of every usual table, yet not all equal.
OPEN_BOUND = 100
#: Tokens that the cache of a decoder holds when its latency is measured: that of one further token.
CONTEXT = 128
#: Exclusive upper bound of positions: the tables of the smallest networks have as many rows.
_POSITIONS = 32


def random_inputs(
    network: Network, seed: int, sizes: Mapping[str, int] | None = None
) -> dict[str, Array]:
    """One array per input: floats standard normal and never zero, integers in a valid range.

    Zeros would make builds look fast: kernels skip them and processors use less power on them.
    Integer inputs stay below ``network.integer_bounds``; a mask is all ones, a segment id 0 or 1.

    ``sizes`` of named dimensions are :func:`open_sizes` by default. Raises TensorsTooLarge before
    anything is allocated, ValueError if a dtype has no random values.
    """
    sizes = open_sizes(network) if sizes is None else sizes
    require_run_size("input", network.inputs, sizes)
    rng = np.random.default_rng(seed)
    return {
        spec.name: _random(
            rng, spec, tuple(d if isinstance(d, int) else sizes[d] for d in spec.shape), network
        )
        for spec in network.inputs
    }


def other_sizes(network: Network) -> list[dict[str, int]]:
    """Sizes to check a network at besides :func:`open_sizes`: a batch of two, and odd inner
    dimensions, for which no kernel is blocked; for a decoder with a cache also an empty one."""
    usual = open_sizes(network)
    inner = _inner(network.inputs)
    batches = {name: 2 if usual[name] != 2 else 3 for name in usual.keys() - inner}
    odd = {name: _odd_beside(usual[name]) for name in inner}
    decoder = DecoderInputs.of(network.inputs)
    if decoder is None:
        return [usual | changed for changed in (batches, odd) if changed]
    prompt = decoder.prompt_sizes(OPEN_SIZE)
    others = [usual | changed for changed in (prompt, batches, odd) if changed]
    return [decoder.with_mask_length(sizes) for sizes in others]


def open_sizes(network: Network) -> dict[str, int]:
    """Sizes of the inputs' named dimensions: as stated, else 1 for one that only ever leads (the
    batch) and ``OPEN_SIZE`` for the others; for a decoder with a cache those of one further token
    after ``CONTEXT`` ones."""
    return sizes_of(network.inputs, network.dimensions)


def sizes_of(specs: Sequence[TensorSpec], stated: Mapping[str, int]) -> dict[str, int]:
    """Sizes of the named dimensions of ``specs``, see :func:`open_sizes`; ``stated`` ones apply."""
    named = [size for spec in specs for size in spec.shape if isinstance(size, str)]
    decoder = DecoderInputs.of(specs)
    inner, size = _inner(specs), CONTEXT if decoder else OPEN_SIZE
    while True:
        usual = {name: size if name in inner else 1 for name in named}
        further = decoder.further_sizes(size) if decoder else {}
        sizes = {name: stated.get(name, further.get(name, usual[name])) for name in named}
        sizes = decoder.with_mask_length(sizes) if decoder else sizes
        if size == 1 or run_bytes(specs, sizes) <= MAX_RUN_BYTES:
            return sizes
        size //= 2


def dtype_of(spec: TensorSpec, what: str) -> np.dtype[Any]:
    """The NumPy type of a tensor; raises ValueError, naming ``what``, if none (bfloat16)."""
    try:
        return np.dtype(spec.dtype)
    except TypeError as error:
        raise ValueError(f"{spec.name}: no {what} of type {spec.dtype}") from error


def _inner(specs: Sequence[TensorSpec]) -> set[str]:
    """Named dimensions that somewhere do not lead."""
    return {size for spec in specs for size in spec.shape[1:] if isinstance(size, str)}


def _odd_beside(size: int) -> int:
    """An odd size near another, smaller if possible: a table of positions may end there."""
    smaller = size - 1 if size % 2 == 0 else size - 2
    return smaller if smaller > 0 else size + 2


def _random(
    rng: np.random.Generator, spec: TensorSpec, shape: tuple[int, ...], network: Network
) -> Array:
    dtype = dtype_of(spec, "random tensors")
    name = spec.name.lower()
    if spec.name == POSITIONS and DecoderInputs.of(network.inputs):
        bound = min(network.integer_bounds.get(spec.name, _POSITIONS), _POSITIONS)
        return np.broadcast_to(np.arange(shape[-1]) % bound, shape).astype(dtype)
    match dtype.kind:
        case "f":
            values = rng.standard_normal(shape).astype(dtype)
            values[values == 0] = 1
            return values
        case "i" | "u" if "mask" in name:
            return np.ones(shape, dtype)
        case "i" | "u":
            hinted = 2 if "type" in name or "segment" in name else OPEN_BOUND
            bound = min(network.integer_bounds.get(spec.name, hinted), np.iinfo(dtype).max)
            return rng.integers(0, max(bound, 1), shape).astype(dtype)
        case "b":
            return np.ones(shape, dtype) if "mask" in name else rng.random(shape) < 0.5
        case _:
            raise ValueError(f"{spec.name}: no random tensors of type {spec.dtype}")
