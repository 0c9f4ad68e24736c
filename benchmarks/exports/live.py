"""Live models, as their libraries hold them, before they are exported."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from benchmarks.exports.drawing import Export

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
