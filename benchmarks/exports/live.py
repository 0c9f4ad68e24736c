"""Live models, as their libraries hold them, before they are exported."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from benchmarks.exports.drawing import Export
from benchmarks.exports.sizes import SMALL

Arrays = dict[str, npt.NDArray[Any]]
#: Samples of each network. A quarter of them is held out to calibrate builds.
ROWS = 16


class LiveModel(Protocol):
    """A model that can run and be exported.

    Attributes:
        inputs: ``ROWS`` samples, by name of the input, in the order of the exported inputs; more
            where there are labels.
        labels: ``int64[samples]``, the right class of each; ``None`` where nothing is right.
    """

    inputs: Mapping[str, npt.NDArray[Any]]
    labels: npt.NDArray[np.int64] | None

    def outputs(self) -> list[npt.NDArray[Any]]:
        """Outputs for all samples, in the order of the exported outputs."""

    def write(self, export: Export, folder: Path) -> None:
        """Export ``model.onnx``, and other formats of the same network, into ``folder``."""


def generator(seed: int) -> np.random.Generator:
    """Random numbers of samples, which are other than those of weights."""
    return np.random.default_rng([seed, 1])


def signals(
    numbers: np.random.Generator, scale: str, shape: tuple[int, ...], axes: tuple[int, ...]
) -> npt.NDArray[np.float32]:
    """``float32[ROWS, *shape]`` of pictures, sound or another field, with a variance of about 1.

    Those of the small scale are white noise. After pooling over a large plane, white noise is
    nearly the same for all samples, so that comparisons of outputs would hardly see the network.
    Those of the ordinary scale have patterns of all sizes, as natural pictures do.

    Args:
        axes: Of space or time; 0 is that of samples.
    """
    field = numbers.standard_normal((ROWS, *shape)).astype(np.float32)
    if scale == SMALL or not axes:
        return field
    levels = max(field.shape[axis] for axis in axes).bit_length()
    for level in range(1, levels):
        cells = [-(-n // 2**level) if axis in axes else n for axis, n in enumerate(field.shape)]
        noise = numbers.standard_normal(cells).astype(np.float32)
        for axis in axes:
            noise = noise.repeat(2**level, axis).take(range(field.shape[axis]), axis)
        field += noise
    return field / np.float32(levels**0.5)
