"""Statistics of weights: range, mean, spread, share of zeros and a histogram.

Every tensor is read once, within bounds on bytes: a large one by a sample of its blocks, of which
the result tells the size. Values may be NaN or infinite; they are counted and left out.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper

from workers.inspection.dtypes import NAMES, bytes_of
from workers.inspection.external import ExternalBytes
from workers.inspection.skeleton import OnnxFailure

#: Bins of a histogram.
BINS = 24
#: Elements up to which a tensor is read whole; of a larger one, as many are sampled.
MOST_ELEMENTS = 2**22
#: Bytes read of all tensors of a file, and tensors with statistics.
MOST_BYTES, MOST_TENSORS = 2**29, 20_000
_BLOCKS = 64
#: Elements from which spread and histogram are computed.
_SAMPLED = 2**17

Statistics = dict[str, Any]


class WeightReader:
    """Statistics of the tensors of a model whose weights are still present, by identity.

    Args:
        external: The tensors whose bytes lie in other files.

    Attributes:
        is_exhausted: Whether tensors were left out, because of the bounds.
    """

    def __init__(self, external: Sequence[ExternalBytes]) -> None:
        self._external = {id(one.tensor): one for one in external}
        self._bytes_left = MOST_BYTES
        self._tensors_left = MOST_TENSORS
        self.is_exhausted = False

    def read(self, tensor: TensorProto) -> Statistics | None:
        """Statistics of a checked tensor; ``None`` for texts, empty ones, and beyond the bounds."""
        elements = int(np.prod(tensor.dims, dtype=np.int64))
        size = bytes_of(tensor.data_type, min(elements, MOST_ELEMENTS))
        if not elements or not size:
            return None
        if not self._tensors_left or size > self._bytes_left:
            self.is_exhausted = True
            return None
        self._tensors_left -= 1
        self._bytes_left -= size
        try:
            values = self._values(tensor, elements)
        except (*OnnxFailure, OSError, MemoryError):
            return None
        return None if values is None else describe(values, elements)

    def _values(self, tensor: TensorProto, elements: int) -> npt.NDArray[Any] | None:
        outside = self._external.get(id(tensor))
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        packed = tensor.data_type in NAMES and bytes_of(tensor.data_type, 8) != 8 * dtype.itemsize
        if outside is not None:
            return None if packed else _outside(outside, dtype, elements)
        if tensor.HasField("raw_data") and not packed:
            raw = np.frombuffer(tensor.raw_data, dtype=dtype)
            return _sample(raw)
        return _sample(numpy_helper.to_array(tensor).reshape(-1))


def _outside(outside: ExternalBytes, dtype: np.dtype[Any], elements: int) -> npt.NDArray[Any]:
    """Elements in another file; of a large tensor, blocks at equal distances."""
    handle = os.open(outside.path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        if elements <= MOST_ELEMENTS:
            return np.frombuffer(os.pread(handle, outside.length, outside.offset), dtype=dtype)
        block = MOST_ELEMENTS // _BLOCKS
        starts = [(elements - block) * number // (_BLOCKS - 1) for number in range(_BLOCKS)]
        width = dtype.itemsize
        parts = [os.pread(handle, block * width, outside.offset + s * width) for s in starts]
        return np.frombuffer(b"".join(parts), dtype=dtype)
    finally:
        os.close(handle)


def _sample(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    step = -(-values.size // MOST_ELEMENTS)
    return values[::step]


def describe(values: npt.NDArray[Any], elements: int) -> Statistics | None:
    """Statistics of a sample of ``elements`` numbers; ``None`` if they are not real numbers.

    Returns:
        ``counted`` of all ``elements``; ``min``, ``max``, ``mean``, ``std`` of the finite ones, or
        ``None``; ``zeros``: their share; ``nan``, ``inf``: counts; ``histogram``: counts in
        :data:`BINS` bins of equal width from ``min`` to ``max``. Spread and histogram are those of
        at most :data:`_SAMPLED` elements at equal distances.
    """
    if values.dtype.kind in "cOSUV" and values.dtype.itemsize > 2:
        return None
    with np.errstate(all="ignore"):
        numbers = values if values.dtype.kind in "fiub" else values.astype(np.float32)
        figures: Statistics = {
            "counted": int(numbers.size),
            "elements": elements,
            "nan": 0,
            "inf": 0,
            "zeros": _short(1 - np.count_nonzero(numbers) / max(numbers.size, 1)),
        }
        # The extremes of a tensor with a NaN are NaN: most tensors need no further look.
        if numbers.size and not np.isfinite([numbers.min(), numbers.max()]).all():
            figures |= {"nan": int(np.isnan(numbers).sum()), "inf": int(np.isinf(numbers).sum())}
            numbers = numbers[np.isfinite(numbers)]
        if not numbers.size:
            return figures | dict.fromkeys(("min", "max", "mean", "std")) | {"histogram": []}
        low, high = float(numbers.min()), float(numbers.max())
        sample = numbers[:: -(-numbers.size // _SAMPLED)].astype(np.float64)
        return figures | {
            "min": _short(low),
            "max": _short(high),
            "mean": _short(float(numbers.mean(dtype=np.float64))),
            "std": _short(float(sample.std())),
            "histogram": _histogram(sample, low, high),
        }


def _histogram(sample: npt.NDArray[np.float64], low: float, high: float) -> list[int]:
    if not np.isfinite(high - low):
        return []
    places = (sample - low) * (BINS / ((high - low) or 1.0))
    counts: list[int] = np.bincount(
        np.clip(places.astype(np.int64), 0, BINS - 1), minlength=BINS
    ).tolist()
    return counts


def _short(value: float) -> float | None:
    """Six significant digits; ``None`` for what JSON cannot spell. No negative zero."""
    return float(f"{value:.6g}") + 0.0 if np.isfinite(value) else None
