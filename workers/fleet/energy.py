"""Counters of the energy that a target's parts take, for the engine's meter."""

from collections.abc import Sequence
from dataclasses import dataclass

from hpcfair import _nvml
from workers.engine.energy import zones
from workers.engine.ports import EnergyCounter
from workers.engine.types import TargetSpec

_CUDA = "cuda"


@dataclass(frozen=True, slots=True)
class GpuCounter:
    """A GPU's own counter, from Volta on.

    The library is opened for each reading, which takes milliseconds between timed blocks, so that
    no handle is left behind in a worker whose driver is replaced.
    """

    index: int
    range_uj: int = 2**64 * 1000
    source: str = "nvml-total-energy"

    def read(self) -> int:
        """Raises OSError where the GPU does not count, or is gone."""
        with _nvml.opened() as nvml:
            used_mj = nvml.energy_mj(self.index)
        if used_mj is None:
            raise OSError("this GPU does not count its energy")
        return used_mj * 1000


def counters_of(target: TargetSpec) -> Sequence[EnergyCounter]:
    """What can be read here of what ``target`` uses: the packages, and for a GPU target the GPU."""
    found: list[EnergyCounter] = list(zones())
    if _CUDA in target.features:
        # Runtimes open the first GPU.
        gpu = GpuCounter(0)
        try:
            gpu.read()
        except OSError:
            return found
        found.append(gpu)
    return found
