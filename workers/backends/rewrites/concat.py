"""Convolutions of parts in place of convolutions of what the parts are joined into.

A pointwise convolution of a concatenation is the sum of convolutions of its parts. Summing costs
a pass over the convolution's output, joining one over its input::

    a ─┐                                  a ─ conv ─┐
       Concat (128) ─ conv (16) ─ Relu ─▶           Add (16) ─ Relu
    b ─┘                                  b ─ conv ─┘

Runtimes that sum while they convolve, as ONNX Runtime does in its blocked layout, save the pass
altogether. A maximum in between is taken of the parts.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import onnx
from onnx import helper

from workers.backends.rewrites.network import Network, attribute, is_pointwise
from workers.engine.ports import Array

#: Channels in a block: parts of other widths would have to be copied after all.
_BLOCK = 16
#: How many times fewer channels must be summed than joined.
_GAIN = 2


def split_over_concat(network: Network) -> int:
    """Split pointwise convolutions over the concatenations they read; returns how many went."""
    return sum(_split(network, node) for node in list(network.nodes))


def _split(network: Network, concat: onnx.NodeProto) -> bool:
    if concat.op_type != "Concat" or attribute(concat, "axis", 0) != 1:
        return False
    widths = [_channels(network, name) for name in concat.input]
    pool = _only_pool(network, concat.output[0])
    convolutions = _splittable(network, (pool or concat).output[0])
    # The sum of each convolution is passed over once for every part after the first.
    summed = (len(widths) - 1) * sum(map(len, convolutions.values()))
    if not convolutions or 0 in widths or _GAIN * summed > sum(widths):
        return False
    parts = list(concat.input) if pool is None else _pool_parts(network, pool, concat.input)
    for convolution in list(convolutions):
        _convolve_parts(network, network.makers[convolution], parts, widths)
    for gone in (pool, concat):
        if gone is not None:
            network.replace([gone], [])
    return True


def _channels(network: Network, name: str) -> int:
    """Of a picture in whole blocks; else 0."""
    shape = network.shape(name)
    channels = shape[1] if shape and len(shape) == 4 else 0
    return channels if isinstance(channels, int) and channels % _BLOCK == 0 else 0


def _only_pool(network: Network, name: str) -> onnx.NodeProto | None:
    """The maximum that alone takes a value."""
    taker = network.only_taker(name)
    is_pool = taker is not None and taker.op_type == "MaxPool" and len(taker.output) == 1
    return taker if is_pool else None


def _splittable(network: Network, name: str) -> dict[str, Array]:
    """Outputs and weights of the pointwise convolutions that take a value; empty if anything else
    takes it too."""
    found: dict[str, Array] = {}
    for taker in network.takers[name]:
        weights = network.constant(taker.input[1]) if taker and len(taker.input) > 1 else None
        if taker is None or weights is None or not is_pointwise(taker, weights):
            return {}
        if taker.input[0] != name or attribute(taker, "group", 1) != 1:
            return {}
        found[taker.output[0]] = weights
    return found


def _pool_parts(network: Network, pool: onnx.NodeProto, parts: Sequence[str]) -> list[str]:
    pooled = [network.fresh(pool.output[0]) for _ in parts]
    nodes = []
    for part, name in zip(parts, pooled, strict=True):
        node = helper.make_node("MaxPool", [part], [name], name=name)
        node.attribute.extend(pool.attribute)
        nodes.append(node)
    network.replace([pool], [*nodes, pool])
    return pooled


def _convolve_parts(
    network: Network, convolution: onnx.NodeProto, parts: Sequence[str], widths: Sequence[int]
) -> None:
    """Put a convolution of each part, and their sum, in place of a convolution."""
    weights = network.constant(convolution.input[1])
    assert weights is not None  # noqa: S101  for mypy
    ends = np.cumsum([0, *widths])
    total, nodes = "", []
    for number, (part, (low, high)) in enumerate(zip(parts, pairwise(ends), strict=True)):
        weight = network.add_constant(convolution.input[1], weights[:, low:high])
        # The bias once, with the first part.
        bias = list(convolution.input[2:]) if number == 0 else []
        output = network.fresh(convolution.output[0])
        node = helper.make_node("Conv", [part, weight, *bias], [output], name=output)
        node.attribute.extend(convolution.attribute)
        nodes.append(node)
        if total:
            last = number == len(parts) - 1
            summed = convolution.output[0] if last else network.fresh(convolution.output[0])
            # The newest convolution adds what there is to what it computes.
            nodes.append(
                helper.make_node("Add", [total, output], [summed], name=network.fresh(summed))
            )
            output = summed
        total = output
    network.replace([convolution], nodes)
