"""Energy counters of a target's processors and GPUs, for the engine."""

from collections.abc import Sequence
from dataclasses import dataclass

from hpcfair import nvidia
from workers.engine.energy import zones
from workers.engine.ports import EnergyCounter
from workers.engine.types import TargetSpec

_CUDA = "cuda"


@dataclass(frozen=True, slots=True)
class GpuCounter:
    """The energy counter of an NVIDIA GPU (Volta or newer), in microjoules."""

    index: int
    range_uj: int = 2**64 * 1000
    source: str = "nvml-total-energy"

    def read(self) -> int:
        """Raises OSError if the GPU has no such counter or is gone."""
        return nvidia.energy_mj(self.index) * 1000


def counters_of(target: TargetSpec) -> Sequence[EnergyCounter]:
    """Readable counters of the parts that ``target`` uses: CPU packages, and the GPU if any."""
    counters: list[EnergyCounter] = list(zones())
    if _CUDA in target.features:
        # Runtimes use the first GPU.
        gpu = GpuCounter(0)
        try:
            gpu.read()
        except OSError:
            return counters
        counters.append(gpu)
    return counters
