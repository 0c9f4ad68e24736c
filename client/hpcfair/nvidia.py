"""NVIDIA GPUs, as the driver's management library (NVML) reports them. NVML is part of the driver.
Queries take milliseconds and no GPU memory."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pynvml


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. A value that the driver does not report is ``None``.

    Attributes:
        index: Position in the driver's list, which ``CUDA_VISIBLE_DEVICES`` does not change.
        capability: Compute capability, such as ``9.0``.
        uuid_sha256: SHA-256 of the card's UUID: identifies the card without revealing the UUID.
    """

    index: int
    name: str
    memory_bytes: int | None
    driver: str | None
    capability: str | None
    uuid_sha256: str | None


def gpus() -> tuple[Gpu, ...]:
    """The NVIDIA GPUs visible to this process; empty without a working driver."""
    try:
        with _session():
            return tuple(_gpu(index) for index in range(pynvml.nvmlDeviceGetCount()))
    except pynvml.NVMLError:
        return ()


def energy_mj(index: int) -> int:
    """Energy in millijoules that a GPU has used since its driver was loaded (Volta or newer).
    Raises OSError if there is no driver, no such GPU, or the GPU has no such counter."""
    try:
        with _session():
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            return int(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle))
    except pynvml.NVMLError as error:
        raise OSError(f"The energy counter of GPU {index} cannot be read: {error}") from error


@contextmanager
def _session() -> Iterator[None]:
    # Opened for each query, so that no handle survives the replacement of a driver.
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()


def _gpu(index: int) -> Gpu:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    memory = _optional(pynvml.nvmlDeviceGetMemoryInfo, handle)
    capability = _optional(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    uuid = _optional(pynvml.nvmlDeviceGetUUID, handle)
    return Gpu(
        index=index,
        name=_optional(pynvml.nvmlDeviceGetName, handle) or "NVIDIA GPU",
        memory_bytes=memory and int(memory.total),
        driver=_optional(pynvml.nvmlSystemGetDriverVersion),
        capability=capability and "{}.{}".format(*capability),
        uuid_sha256=hashlib.sha256(uuid.encode()).hexdigest() if uuid else None,
    )


def _optional(query: Callable[..., Any], *arguments: Any) -> Any:
    """The result of an NVML query, or ``None`` if the card or the driver does not support it."""
    with suppress(pynvml.NVMLError):
        return query(*arguments)
    return None
