"""Rounds the weights of layers for what the layers take, in networks of reduced precision.

Each layer is rounded for the outputs that it has in float32
(:mod:`workers.backends.mixed.rounding`), on inputs of the calibration. Layers stay as they are if
their weights are not constant, or too many.
"""

from collections.abc import Mapping, Sequence
from math import ceil, prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from workers.backends.mixed.rounding import (
    FLOAT_GRIDS,
    Floats,
    error_shares,
    integer_grid,
    round_weights,
    second_moments,
)
from workers.backends.openvino.layers import (
    ROUNDING,
    make_weights_constant,
    named_layers,
    replace_weights,
    weights,
)
from workers.backends.openvino.observation import run_outputs
from workers.engine.ports import Array
from workers.engine.types import Options

_EXACT: Options = {"precision": "float32"}
#: Samples of what a layer takes, from all runs.
_SAMPLES = 1024
#: More weights, such as those of AlexNet's first dense layer, would take seconds.
_MOST_WEIGHTS = 8_000_000
_SEED = 20_260_101


def round_layers(
    exact: Any, integer: Any, precision: str, runs: Sequence[Mapping[str, Array]]
) -> tuple[Any, list[str]]:
    """A copy of ``exact``, the network in float32, with rounded weights, and the names of the
    layers whose weights were rounded. Those of ``integer`` are rounded in place, before the
    operators that would round them to the nearest.

    Args:
        integer: The network that NNCF quantised from ``exact``.
        precision: Of layers that do not compute in int8; weights of the copy stay as they are if it
            is ``float32``.
        runs: Inputs by name, of each run of the network.
    """
    floating = exact.clone()
    make_weights_constant(floating)
    quantised = named_layers(integer)
    layers = {
        name: layer
        for name, layer in named_layers(floating).items()
        if name in quantised and _is_supported(layer, quantised[name])
    }
    rounded = []
    for name, moments in _moments(floating, layers, runs).items():
        if not np.isfinite(moments).all():
            continue
        shares = error_shares(moments)
        layer, integer_layer = layers[name], quantised[name]
        matrix = weight_matrix(layer, weights(layer).data)
        grid = integer_grid(_scales(integer_layer))
        _set_matrix(integer_layer, round_weights(matrix, shares, grid))
        if precision != "float32":
            _set_matrix(layer, round_weights(matrix, shares, FLOAT_GRIDS[precision]))
        rounded.append(name)
    return floating, rounded


def _is_supported(layer: Any, quantised: Any) -> bool:
    """Whether the weights of a layer can be rounded here."""
    constant, rounded = weights(layer), weights(quantised)
    is_rounded = quantised.input_value(1).get_node().get_type_name() == ROUNDING
    if constant is None or rounded is None or not is_rounded:
        return False
    shape = list(constant.shape)
    if list(rounded.shape) != shape or prod(shape) > _MOST_WEIGHTS:
        return False
    facts = layer.get_attributes()
    if layer.get_type_name() == "MatMul":
        return len(shape) == 2 and not facts["transpose_a"]
    is_forward = layer.get_type_name() != "ConvolutionBackpropData"
    return is_forward and bool(facts["auto_pad"] == "explicit")


def weight_matrix(layer: Any, values: Array) -> Floats:
    """Values of the shape of a layer's weights, as float32[groups, outputs, features]."""
    matrix = np.asarray(values, np.float32)
    if _is_transposed(layer):
        matrix = matrix.T
    if layer.get_type_name() != "GroupConvolution":
        matrix = matrix[None]
    return matrix.reshape(*matrix.shape[:2], -1)


def _set_matrix(layer: Any, matrix: Floats) -> None:
    replace_weights(layer, matrix[0].T if _is_transposed(layer) else matrix)


def _is_transposed(layer: Any) -> bool:
    """Whether the first axis of a layer's weights is that of its inputs."""
    return layer.get_type_name() == "MatMul" and not layer.get_attributes()["transpose_b"]


def _scales(layer: Any) -> Floats:
    """The steps by which NNCF's operator rounds weights, float32[groups, outputs]."""
    rounding = layer.input_value(1).get_node()
    low, high = (rounding.input_value(port).get_node().data for port in (1, 2))
    steps = (high - low) / (rounding.get_attributes()["levels"] - 1)
    matrix = weight_matrix(layer, np.broadcast_to(steps, list(weights(layer).shape)))
    return np.maximum(matrix[..., 0], np.finfo(np.float32).tiny)


def _moments(
    model: Any, layers: Mapping[str, Any], runs: Sequence[Mapping[str, Array]]
) -> dict[str, Floats]:
    """Second moments of what each layer takes."""
    generator = np.random.default_rng(_SEED)
    count = ceil(_SAMPLES / len(runs))
    sources = [layer.input_value(0) for layer in layers.values()]
    sums: dict[str, Floats] = {}
    for values in run_outputs(model, sources, _EXACT, runs):
        for (name, layer), value in zip(layers.items(), values, strict=True):
            rows = input_rows(layer, np.asarray(value, np.float32), count, generator)
            moments = second_moments(rows)
            sums[name] = sums[name] + moments if name in sums else moments
    return sums


def input_rows(layer: Any, value: Floats, count: int, generator: np.random.Generator) -> Floats:
    """At most ``count`` rows of the matrix by which a layer multiplies its weights,
    float32[groups, rows, features], for a ``value`` of its input."""
    if layer.get_type_name() == "MatMul":
        rows = value.reshape(-1, value.shape[-1])
        return rows[generator.permutation(len(rows))[:count]][None]
    facts = layer.get_attributes()
    kernel = list(weights(layer).shape)[2 - value.ndim :]
    sizes = [(size - 1) * step + 1 for size, step in zip(kernel, facts["dilations"], strict=True)]
    ends = zip(facts["pads_begin"], facts["pads_end"], strict=True)
    padded = np.pad(value, ((0, 0), (0, 0), *ends))
    windows = sliding_window_view(padded, sizes, axis=tuple(range(2, value.ndim)))
    strides = [slice(None, None, step) for step in (1, 1, *facts["strides"], *facts["dilations"])]
    # Axes: rows of the batch, channels, places, then the kernel's.
    windows = np.moveaxis(windows[tuple(strides)], 1, value.ndim - 1)
    places = windows.shape[: value.ndim - 1]
    chosen = np.unravel_index(generator.permutation(prod(places))[:count], places)
    groups = weights(layer).shape[0] if layer.get_type_name() == "GroupConvolution" else 1
    return windows[chosen].reshape(len(chosen[0]), groups, -1).swapaxes(0, 1)
