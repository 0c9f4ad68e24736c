"""Training of a small network: autograd, Adam, cross-entropy."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import autograd.numpy as anp
import numpy as np
import numpy.typing as npt
from autograd import grad
from autograd.extend import defvjp, primitive
from threadpoolctl import threadpool_limits

# During differentiation, arrays are autograd's boxes; hence the loose type.
Floats = Any
Parameters = list[Floats]
#: Scores ``[n, classes]`` of inputs ``[n, ...]`` under given parameters.
Network = Callable[[Parameters, Floats], Floats]

WEIGHT_DECAY = 1e-4
SHIFTS = tuple((row, column) for row in range(3) for column in range(3))


def dense(x: Floats, weight: Floats, bias: Floats) -> Floats:
    """``x [n, i]`` times ``weight [i, o]`` plus ``bias [o]``."""
    return anp.dot(x, weight) + bias


def relu(x: Floats) -> Floats:
    return anp.maximum(x, 0.0)


@primitive  # type: ignore[untyped-decorator]
def neighbourhoods(x: Floats) -> Floats:
    """Each pixel's 3x3 surroundings of ``x [n, h, w, c]``, zero outside: ``[n, h, w, 9 c]``. A
    primitive with its own gradient, since autograd's element-wise gradient of slices is slow."""
    height, width = x.shape[1:3]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.concatenate(
        [padded[:, row : row + height, column : column + width] for row, column in SHIFTS], axis=3
    )


def _scatter(gradient: Floats, x: Floats) -> Floats:
    """Adjoint of :func:`neighbourhoods`: adds the gradients of all copies of a pixel."""
    n, height, width, channels = x.shape
    padded = np.zeros((n, height + 2, width + 2, channels), x.dtype)
    for i, (row, column) in enumerate(SHIFTS):
        part = gradient[..., i * channels : (i + 1) * channels]
        padded[:, row : row + height, column : column + width] += part
    return padded[:, 1:-1, 1:-1]


defvjp(neighbourhoods, lambda _, x: lambda gradient: _scatter(gradient, x))


def conv3x3(x: Floats, weight: Floats, bias: Floats) -> Floats:
    """Same-size 3x3 convolution of ``x [n, h, w, i]`` with ``weight [3, 3, i, o]``."""
    # Two dimensions on both sides: only then does `dot` use BLAS.
    around = anp.reshape(neighbourhoods(x), (-1, 9 * x.shape[3]))
    mixed = anp.dot(around, anp.reshape(weight, (-1, weight.shape[3]))) + bias
    return anp.reshape(mixed, (*x.shape[:3], weight.shape[3]))


def max_pool2(x: Floats) -> Floats:
    """Largest of each 2x2 square of ``x [n, h, w, c]``; ``h`` and ``w`` are even."""
    n, height, width, channels = x.shape
    squares = anp.reshape(x, (n, height // 2, 2, width // 2, 2, channels))
    return anp.max(squares, axis=(2, 4))


def cross_entropy(scores: Floats, labels: npt.NDArray[np.int64]) -> Floats:
    """Mean negative log-likelihood of ``labels [n]`` under the softmax of ``scores [n, c]``."""
    shifted = scores - anp.max(scores, axis=1, keepdims=True)
    log_norm = anp.log(anp.sum(anp.exp(shifted), axis=1))
    return anp.mean(log_norm - shifted[anp.arange(len(labels)), labels])


def he_normal(rng: np.random.Generator, shape: Sequence[int], fan_in: int) -> Floats:
    """Normal with standard deviation ``sqrt(2 / fan_in)`` (He et al. 2015, section 2.2)."""
    return rng.normal(0.0, np.sqrt(2.0 / fan_in), tuple(shape)).astype(np.float32)


def zeros(count: int) -> Floats:
    return np.zeros(count, np.float32)


def train(
    network: Network,
    parameters: Parameters,
    images: Floats,
    labels: npt.NDArray[np.int64],
    *,
    rng: np.random.Generator,
    epochs: int,
    batch: int = 64,
    rate: float = 2e-3,
) -> Parameters:
    """Parameters after ``epochs`` of Adam (Kingma & Ba 2015, algorithm 1). The rate falls from
    ``rate`` to zero as half a cosine; :data:`WEIGHT_DECAY` times the weights is added to the
    gradient."""
    # Small matrices gain nothing from threads, which are slow where cores are shared.
    with threadpool_limits(1):
        return _adam(network, parameters, images, labels, rng, epochs, batch, rate)


def _adam(
    network: Network,
    parameters: Parameters,
    images: Floats,
    labels: npt.NDArray[np.int64],
    rng: np.random.Generator,
    epochs: int,
    batch: int,
    rate: float,
) -> Parameters:
    slope = grad(lambda p, x, y: cross_entropy(network(p, x), y))
    first = [np.zeros_like(p) for p in parameters]
    second = [np.zeros_like(p) for p in parameters]
    steps = epochs * (len(images) // batch)
    step = 0
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(images) - batch + 1, batch):
            rows = order[start : start + batch]
            step += 1
            size = rate * 0.5 * (1.0 + math.cos(math.pi * step / steps))
            gradients = slope(parameters, images[rows], labels[rows])
            for i, gradient in enumerate(gradients):
                pulled = gradient + WEIGHT_DECAY * parameters[i]
                first[i] = 0.9 * first[i] + 0.1 * pulled
                second[i] = 0.999 * second[i] + 0.001 * pulled**2
                corrected = first[i] / (1.0 - 0.9**step)
                spread = np.sqrt(second[i] / (1.0 - 0.999**step)) + 1e-8
                parameters[i] = parameters[i] - size * corrected / spread
    return parameters


def accuracy(scores: npt.NDArray[np.floating], labels: npt.NDArray[np.int64]) -> float:
    """Share of rows whose largest score is at the label."""
    return float((scores.argmax(axis=1) == labels).mean())
