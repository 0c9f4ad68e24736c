"""Overlap-save: convolutions of sequences by discrete Fourier transforms of overlapping windows
(Oppenheim and Schafer, Discrete-Time Signal Processing, 8.7), and which convolutions it makes
faster. Without onnx, because search spaces are described with it.

Windows of T values overlap by kernel - 1, so that each yields T - kernel + 1 results of the
convolution; the others, which wrap around, are not computed. With a dilation, each phase of the
sequence is a sequence of its own.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_Doubles = npt.NDArray[np.float64]

#: Lengths of windows.
_LENGTHS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
#: A window is at most so many times as long as the kernel: longer ones gain next to nothing and
#: take more memory.
_LONGEST = 4
#: Largest share of the convolution's multiplications. Those of windows take about 1.5 times as
#: long, because their products are smaller and their values are moved more often.
_MOST_WORK = 0.55
#: Results of a sequence of variable length, for the choice of the window.
USUAL_LENGTH: Final = 1000


@dataclass(frozen=True)
class SequenceConvolution:
    """A convolution ``[N, inputs, length] -> [N, outputs, length']`` with stride 1 and one group.

    Attributes:
        kernel: Values that a result depends on, at distances of ``dilation``.
        length: Results of a sequence.
    """

    inputs: int
    outputs: int
    kernel: int
    dilation: int
    length: int

    def window(self) -> int | None:
        """T with the least work, an even number; ``None`` if no T is worthwhile."""
        if min(self.inputs, self.outputs, self.length) < 1:
            return None
        lengths = [size for size in _LENGTHS if self.kernel < size <= _LONGEST * self.kernel]
        best = min(lengths, key=self.work, default=None)
        return best if best is not None and self.work(best) <= _MOST_WORK else None

    def work(self, window: int) -> float:
        """Multiplications with windows of this length, as a ratio to those of the convolution."""
        results = window - self.kernel + 1
        windows = -(-self.length // (results * self.dilation)) * self.dilation
        transforms = window * (window * self.inputs + results * self.outputs)
        products = 2 * window * self.inputs * self.outputs
        direct = self.length * self.kernel * self.inputs * self.outputs
        return windows * (transforms + products) / direct


def transform(window: int) -> _Doubles:
    """``float64[window, window]``: takes ``window`` values, an even number, to the real and the
    imaginary part of each frequency in turn. The imaginary part of the first frequency is zero; the
    last, which is real too, stands in its place."""
    angles = 2 * np.pi / window * np.outer(np.arange(window // 2), np.arange(window))
    rows: _Doubles = np.stack([np.cos(angles), -np.sin(angles)], axis=1).reshape(window, window)
    rows[1] = (-1.0) ** np.arange(window)
    return rows


def inverse(window: int) -> _Doubles:
    """``float64[window, window]``: the inverse of :func:`transform`. Frequencies count twice, since
    those above the last are conjugates; the first and the last count once."""
    columns = 2 * transform(window).T / window
    columns[:, :2] /= 2
    return columns


def spectrum(weights: npt.NDArray[Any], window: int) -> _Doubles:
    """``float64[window / 2, 2 inputs, 2 outputs]``: by frequency, what takes real and imaginary
    parts of the inputs to those of the outputs. The conjugate makes the product a correlation, as
    ``Conv`` computes it.

    Args:
        weights: ``float32[outputs, inputs, kernel]``.
    """
    outputs, inputs, _ = weights.shape
    values = weights.astype(np.float64).transpose(2, 1, 0)
    frequencies = np.conj(np.fft.rfft(values, window, axis=0))
    real, imaginary = frequencies[:-1].real, frequencies[:-1].imag
    blocks = np.zeros((window // 2, 2 * inputs, 2 * outputs))
    blocks[:, :inputs, :outputs] = blocks[:, inputs:, outputs:] = real
    blocks[:, :inputs, outputs:], blocks[:, inputs:, :outputs] = imaginary, -imaginary
    # Both real: the first frequency and the last share a block.
    blocks[0, inputs:, outputs:] = frequencies[-1].real
    return blocks
