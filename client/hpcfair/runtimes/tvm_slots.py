"""Preallocated input tensors for Apache TVM on the CPU."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tvm_ffi

from hpcfair.runtimes.base import Array, TensorInfo

#: Bytes; TVM's loops load whole vector registers from aligned addresses.
_ALIGNMENT = 64
_NUMBERS = frozenset(
    f"{kind}{bits}" for kind in ("float", "int", "uint") for bits in (8, 16, 32, 64)
)


class InputSlots:
    """Tensors of fixed shapes, filled before every run: TVM's own conversion of an array takes
    longer than a run of a small network."""

    def __init__(self, tensors: Sequence[TensorInfo]) -> None:
        self._arrays = {
            tensor.name: _aligned(tuple(map(int, tensor.shape)), np.dtype(tensor.dtype))
            for tensor in tensors
        }
        self._tensors = [tvm_ffi.from_dlpack(array) for array in self._arrays.values()]

    def fill(self, inputs: Mapping[str, Array]) -> list[Any] | None:
        """TVM's tensors with the values of ``inputs``; ``None`` unless all fit exactly."""
        slots = self._arrays
        if len(inputs) != len(slots):
            return None
        for name, array in inputs.items():
            slot = slots.get(name)
            if (
                slot is None
                or type(array) is not np.ndarray
                or array.dtype != slot.dtype
                or array.shape != slot.shape
            ):
                return None
        for name, array in inputs.items():
            np.copyto(slots[name], array)
        return self._tensors


def slots_for(tensors: Sequence[TensorInfo]) -> InputSlots | None:
    """Slots if all shapes are fixed and not empty and NumPy has the element types."""
    fixed = all(isinstance(size, int) and size for tensor in tensors for size in tensor.shape)
    return InputSlots(tensors) if fixed and all(t.dtype in _NUMBERS for t in tensors) else None


def to_array(tensor: Any) -> Array:
    """A copy of one of TVM's tensors, on any device."""
    try:
        return np.from_dlpack(tensor).copy()
    except (BufferError, RuntimeError):
        # On a GPU, or of an element type that NumPy does not have.
        return tensor.numpy()  # type: ignore[no-any-return]


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Zeros whose address is a multiple of :data:`_ALIGNMENT`."""
    count = int(np.prod(shape, dtype=np.int64))
    raw = np.zeros(count * dtype.itemsize + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + count * dtype.itemsize].view(dtype).reshape(shape)
