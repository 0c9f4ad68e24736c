"""The numbers that reasons are derived from."""

from collections.abc import Sequence
from dataclasses import dataclass

from registry.kernels.assembly import InstructionMix
from registry.kernels.roofline import Roofline
from registry.kernels.tir import KernelLoop


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about one call site of a build; ``None`` and "" where it is not.

    Attributes:
        time_ns, spread_ns: Median and median absolute deviation of the call.
        run_ns: A whole run under the profiler.
        between_ns: Time of a run that belongs to no call, for each call.
        operator: In the runtime's words.
        roofline: Its work against the device's roofs.
        mix: Instructions of its assembly.
        loops: Loops of its loop nest.
        lanes: Numbers of its type that a vector register of the target holds.
        is_schedulable: Whether its compiler can search schedules for it.
        is_scheduled: Whether it runs with a searched schedule.
        best_known_ns: The best confirmed time of the same workload on this target.
        precision: Executed; ``model_precision`` is that of the published network.
    """

    time_ns: int
    spread_ns: int
    run_ns: int
    between_ns: float
    operator: str
    implementation: str = ""
    precision: str = ""
    model_precision: str = ""
    roofline: Roofline | None = None
    mix: InstructionMix | None = None
    loops: Sequence[KernelLoop] = ()
    lanes: int | None = None
    is_schedulable: bool = False
    is_scheduled: bool = False
    best_known_ns: float | None = None

    @property
    def share(self) -> float:
        """Of the time of a whole run."""
        return self.time_ns / self.run_ns if self.run_ns > 0 else 0.0
