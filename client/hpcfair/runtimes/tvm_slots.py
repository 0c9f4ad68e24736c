"""Where a build for Apache TVM on the CPU reads its inputs: memory of its own, made once."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tvm_ffi

from hpcfair.runtimes.base import Array, Tensor

#: Bytes; TVM's loops load whole vector registers and expect every tensor to start at one.
_ALIGNMENT = 64
_NUMBERS = frozenset(
    f"{kind}{bits}" for kind in ("float", "int", "uint") for bits in (8, 16, 32, 64)
)


class Slots:
    """Tensors of one fixed shape each, filled before every run.

    TVM's own way of handing over an array asks so many questions that it takes longer than a
    small network.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._arrays = {
            tensor.name: _aligned(tuple(map(int, tensor.shape)), np.dtype(tensor.dtype))
            for tensor in tensors
        }
        self._tensors = [tvm_ffi.from_dlpack(array) for array in self._arrays.values()]

    def fill(self, inputs: Mapping[str, Array]) -> list[Any] | None:
        """TVM's tensors with the values of ``inputs``; ``None`` if any is not just what fits."""
        kept = self._arrays
        if len(inputs) != len(kept):
            return None
        for name, array in inputs.items():
            slot = kept.get(name)
            if (
                slot is None
                or type(array) is not np.ndarray
                or array.dtype != slot.dtype
                or array.shape != slot.shape
            ):
                return None
        for name, array in inputs.items():
            np.copyto(kept[name], array)
        return self._tensors


def slots_for(tensors: Sequence[Tensor]) -> Slots | None:
    """Slots, where all shapes are fixed, hold something, and NumPy has the types."""
    fixed = all(isinstance(size, int) and size for tensor in tensors for size in tensor.shape)
    return Slots(tensors) if fixed and all(t.dtype in _NUMBERS for t in tensors) else None


def taken(tensor: Any) -> Array:
    """A copy of one of TVM's tensors, wherever it lies."""
    try:
        return np.from_dlpack(tensor).copy()
    except (BufferError, RuntimeError):
        # On a GPU, or of a type that NumPy lacks.
        return tensor.numpy()  # type: ignore[no-any-return]


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Zeros that start at a multiple of :data:`_ALIGNMENT`."""
    count = int(np.prod(shape, dtype=np.int64))
    raw = np.zeros(count * dtype.itemsize + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + count * dtype.itemsize].view(dtype).reshape(shape)
