"""Rounds the weights of a layer such that its outputs change least.

Weights are rounded one input after another, and those of later inputs make up for the error as far
as the inputs are correlated: Frantar et al. 2022, "GPTQ: Accurate Post-Training Quantization for
Generative Pre-trained Transformers", algorithm 1. Blocks of inputs are rounded independently of
each other, which bounds time and memory and costs little (ADR 63).
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
#: Rounds an array whose last two axes are groups and outputs.
Grid = Callable[[Floats], Floats]

#: Inputs that are rounded together, and those whose errors are passed on together.
_WIDTH, _STEP = 256, 32
#: Added to the diagonal of the inputs' second moments, as a share of its mean: with few rows they
#: do not have full rank.
_DAMPING = 0.01
_LEAST = 1e-12


def integer_grid(scale: Floats) -> Grid:
    """Multiples of ``scale``, float32[groups, outputs], by -127 to 127."""

    def rounded(values: Floats) -> Floats:
        return np.asarray(np.clip(np.round(values / scale), -127, 127) * scale)

    return rounded


def round_weights(weights: Floats, shares: Floats, grid: Grid) -> Floats:
    """Weights on a grid, of the same shape.

    Args:
        weights: float32[groups, outputs, features].
        shares: Those of :func:`error_shares`.
    """
    groups, outputs, features = weights.shape
    blocks, _, width, _ = shares.shape
    # Axes: blocks, groups, features, outputs.
    values = _padded(weights, blocks * width).reshape(groups, outputs, blocks, width)
    values = np.ascontiguousarray(values.transpose(2, 0, 3, 1))
    rounded = np.empty_like(values)
    for start in range(0, width, _STEP):
        stop = min(start + _STEP, width)
        for at in range(start, stop):
            rounded[..., at, :] = grid(values[..., at, :])
            error = values[..., at, :] - rounded[..., at, :]
            following = shares[..., at, at + 1 : stop]
            values[..., at + 1 : stop, :] -= following[..., None] * error[..., None, :]
        # What is left of rounded inputs are their errors.
        errors = values[..., start:stop, :] - rounded[..., start:stop, :]
        values[..., stop:, :] -= shares[..., start:stop, stop:].swapaxes(-1, -2) @ errors
    whole = rounded.transpose(1, 3, 0, 2).reshape(groups, outputs, -1)
    return np.ascontiguousarray(whole[..., :features])


def second_moments(inputs: Floats) -> Floats:
    """Sums of products of what a layer takes, which add up over runs.

    Args:
        inputs: Samples, float32[groups, samples, features].

    Returns:
        float32[blocks, groups, width, width]; features are padded to a number of whole blocks.
        Not finite if the inputs are not.
    """
    groups, count, features = inputs.shape
    width = min(_WIDTH, features)
    blocks = -(-features // width)
    samples = _padded(inputs, blocks * width).reshape(groups, count, blocks, width)
    samples = np.ascontiguousarray(samples.transpose(2, 0, 1, 3))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(samples.swapaxes(-1, -2) @ samples)


def error_shares(moments: Floats) -> Floats:
    """How much of the error of a weight those of later inputs make up for, of the shape of
    :func:`second_moments`.

    They are the rows of the upper Cholesky factor of the inverse moments, each divided by its
    diagonal element.
    """
    width = moments.shape[-1]
    damping = _DAMPING * np.trace(moments, axis1=-2, axis2=-1) / width
    damped = moments + np.maximum(damping, _LEAST)[..., None, None] * np.eye(width)
    factor = np.linalg.cholesky(np.linalg.inv(damped)).swapaxes(-1, -2)
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    return np.asarray(factor / diagonal[..., None], np.float32)


def _padded(values: Floats, size: int) -> Floats:
    """Values with zeros behind the last axis, which gets ``size`` elements."""
    return np.pad(values, ((0, 0), (0, 0), (0, size - values.shape[-1])))


def _to_bfloat16(values: Floats) -> Floats:
    """float32 rounded to the nearest bfloat16, ties to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def _to_float16(values: Floats) -> Floats:
    return values.astype(np.float16).astype(np.float32)


#: The values of precisions in floating point.
FLOAT_GRIDS: dict[str, Grid] = {"bfloat16": _to_bfloat16, "float16": _to_float16}
