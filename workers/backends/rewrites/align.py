"""Channels filled up to whole blocks, where a pooling would otherwise leave the blocked layout.

ONNX Runtime convolves in blocks of 16 channels and fills up the last one itself, but pools in
blocks only if none needs filling. The added channels are zero, and cut off where they are few::

    conv (24) ─ Relu ─ MaxPool   ─▶   conv (32) ─ Relu ─ MaxPool ─ Slice (24)
"""

import numpy as np
import onnx
from onnx import helper

from workers.backends.rewrites.network import Network, attribute

_BLOCK = 16
_CELLWISE = frozenset({"Relu", "Clip"})
_POOLS = frozenset({"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"})


def align_channels(network: Network) -> int:
    """Fill up convolutions that go into a pooling; returns how many."""
    return sum(_align(network, node) for node in list(network.nodes) if node.op_type == "Conv")


def _align(network: Network, convolution: onnx.NodeProto) -> bool:
    weights = network.constant(convolution.input[1])
    if weights is None or weights.ndim != 4 or attribute(convolution, "group", 1) != 1:
        return False
    missing = -weights.shape[0] % _BLOCK
    pool = _pool_after(network, convolution)
    # Kernels of other channel counts read what they are given as it is.
    if not missing or pool is None or weights.shape[0] < _BLOCK:
        return False
    for position, name in list(enumerate(convolution.input))[1:]:
        value = network.constant(name)
        if value is None:
            return False
        filled = np.pad(value, [(0, missing)] + [(0, 0)] * (value.ndim - 1))
        convolution.input[position] = network.add_constant(name, filled)
    whole = network.fresh(pool.output[0])
    bounds = [
        network.add_constant(whole, np.array([value], np.int64))
        for value in (0, weights.shape[0], 1)
    ]
    cut = helper.make_node("Slice", [whole, *bounds], [pool.output[0]], name=network.fresh(whole))
    pool.output[0] = whole
    network.replace([pool], [pool, cut])
    return True


def _pool_after(network: Network, node: onnx.NodeProto) -> onnx.NodeProto | None:
    """The pooling that alone takes a value, or what becomes of it cell by cell."""
    takers = network.takers[node.output[0]]
    taker = takers[0] if len(takers) == 1 else None
    if taker is None or len(taker.output) > 1:
        return None
    if taker.op_type in _CELLWISE and taker.input[0] == node.output[0]:
        return _pool_after(network, taker)
    return taker if taker.op_type in _POOLS else None
