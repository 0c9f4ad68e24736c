"""NVIDIA GPUs as the driver's management library (NVML) tells of them.

NVML comes with the driver; nothing has to be installed to ask it, and no GPU memory is taken.
Source of names, structures and units: NVIDIA's NVML API reference.
"""

import ctypes
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

_LIBRARY = "libnvidia-ml.so.1"
_TEXT_BYTES = 96


class NvmlError(OSError):
    """The library is not there, or a call was refused; carries NVML's return code."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU; what the driver does not tell is ``None``.

    Attributes:
        index: Of the driver's list, which ``CUDA_VISIBLE_DEVICES`` does not change.
        capability: Compute capability, such as ``9.0``.
        uuid_sha256: Hash of its serial identity: equal for the same card, and says no more.
    """

    index: int
    name: str
    memory_bytes: int | None
    driver: str | None
    capability: str | None
    uuid_sha256: str | None


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong),
                ("used", ctypes.c_ulonglong)]  # fmt: skip


class Nvml:
    """An opened library. Made by :func:`opened`."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._call("nvmlInit_v2")

    def close(self) -> None:
        self._call("nvmlShutdown")

    def gpus(self) -> tuple[Gpu, ...]:
        """All GPUs of the machine that this process may see."""
        count = ctypes.c_uint()
        self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        return tuple(self._gpu(index) for index in range(count.value))

    def energy_mj(self, index: int) -> int | None:
        """Millijoules the GPU has used since its driver was loaded; from Volta on."""
        used = ctypes.c_ulonglong()
        with suppress(NvmlError):
            handle = self._handle(index)
            self._call("nvmlDeviceGetTotalEnergyConsumption", handle, ctypes.byref(used))
            return used.value
        return None

    def _gpu(self, index: int) -> Gpu:
        handle = self._handle(index)
        memory, major, minor = _Memory(), ctypes.c_int(), ctypes.c_int()
        total = capability = None
        with suppress(NvmlError):
            self._call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
            total = int(memory.total)
        with suppress(NvmlError):
            which = (ctypes.byref(major), ctypes.byref(minor))
            self._call("nvmlDeviceGetCudaComputeCapability", handle, *which)
            capability = f"{major.value}.{minor.value}"
        uuid = self._text("nvmlDeviceGetUUID", handle)
        return Gpu(
            index=index,
            name=self._text("nvmlDeviceGetName", handle) or "NVIDIA GPU",
            memory_bytes=total,
            driver=self._text("nvmlSystemGetDriverVersion"),
            capability=capability,
            uuid_sha256=hashlib.sha256(uuid.encode()).hexdigest() if uuid else None,
        )

    def _handle(self, index: int) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
        return handle

    def _text(self, function: str, *arguments: Any) -> str | None:
        buffer = ctypes.create_string_buffer(_TEXT_BYTES)
        with suppress(NvmlError):
            self._call(function, *arguments, buffer, ctypes.c_uint(_TEXT_BYTES))
            return buffer.value.decode(errors="replace")
        return None

    def _call(self, function: str, *arguments: Any) -> None:
        try:
            code = getattr(self._library, function)(*arguments)
        except AttributeError as error:
            raise NvmlError(0, f"this driver has no {function}") from error
        if code != 0:
            raise NvmlError(code, f"{function} was refused")


@contextmanager
def opened() -> Iterator[Nvml]:
    """The library, for the length of a ``with``.

    Raises:
        NvmlError: there is no driver of NVIDIA's here, or it does not answer.
    """
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise NvmlError(0, "there is no NVIDIA driver here") from error
    nvml = Nvml(library)
    try:
        yield nvml
    finally:
        nvml.close()


def gpus() -> tuple[Gpu, ...]:
    """The machine's NVIDIA GPUs; none where there is no driver."""
    try:
        with opened() as nvml:
            return nvml.gpus()
    except NvmlError:
        return ()
