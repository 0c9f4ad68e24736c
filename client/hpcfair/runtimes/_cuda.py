"""Part of CUDA's driver interface: GPU memory, copies and a stream. No CUDA toolkit is needed.

Source of names and types: NVIDIA's CUDA driver API reference.
"""

import ctypes
import sys
from typing import Any

from hpcfair.errors import MissingPackage, RuntimeFailed
from hpcfair.runtimes.base import Array

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


class CudaContext:
    """The primary context of the first GPU, which CUDA's libraries share. Used by one thread.

    Raises:
        MissingPackage: there is no NVIDIA driver.
        RuntimeFailed: the driver has no GPU, or refuses.
    """

    def __init__(self) -> None:
        try:
            self._driver: Any = ctypes.CDLL(_LIBRARY)
        except OSError as error:
            raise MissingPackage(
                "There is no NVIDIA driver on this machine.",
                "Load a build for its processor instead: target='auto' chooses one.",
            ) from error
        device, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuInit", ctypes.c_uint(0))
        self._call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        self._call("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(0))
        self._device = device
        self._stream = stream
        self._allocations: set[int] = set()

    @property
    def stream(self) -> int:
        """Handle of the stream that copies and kernels are queued on."""
        return self._stream.value or 0

    def allocate(self, size_bytes: int) -> int:
        """Allocate GPU memory; returns its address, also for a size of 0."""
        address = ctypes.c_uint64()
        size = ctypes.c_size_t(max(1, size_bytes))
        self._call("cuMemAlloc_v2", ctypes.byref(address), size)
        self._allocations.add(address.value)
        return address.value

    def free(self, address: int) -> None:
        """Free memory that nothing queued on the stream uses."""
        self._allocations.discard(address)
        self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def copy_in(self, address: int, array: Array) -> None:
        """Queue a copy of a contiguous array to the GPU; keep the array until :meth:`wait`."""
        self._call(
            "cuMemcpyHtoDAsync_v2",
            ctypes.c_uint64(address),
            ctypes.c_void_p(array.ctypes.data),
            ctypes.c_size_t(array.nbytes),
            self._stream,
        )

    def copy_out(self, array: Array, address: int) -> None:
        """Queue a copy from the GPU to a contiguous array, which is filled after :meth:`wait`."""
        self._call(
            "cuMemcpyDtoHAsync_v2",
            ctypes.c_void_p(array.ctypes.data),
            ctypes.c_uint64(address),
            ctypes.c_size_t(array.nbytes),
            self._stream,
        )

    def wait(self) -> None:
        """Wait until everything queued on the stream is done."""
        self._call("cuStreamSynchronize", self._stream)

    def close(self) -> None:
        """Free memory, stream and context."""
        for address in list(self._allocations):
            self.free(address)
        self._call("cuStreamDestroy_v2", self._stream)
        self._call("cuDevicePrimaryCtxRelease_v2", self._device)

    def _call(self, function: str, *arguments: Any) -> None:
        code = getattr(self._driver, function)(*arguments)
        if code == 0:
            return
        text = ctypes.c_char_p()
        self._driver.cuGetErrorString(code, ctypes.byref(text))
        reason = text.value.decode(errors="replace") if text.value else f"error {code}"
        raise RuntimeFailed(f"CUDA refused {function}: {reason}.")
