"""The two objectives of a list of passes, and when a list serves one of them."""

from dataclasses import dataclass, field
from typing import Any, Literal

from hpcfair.measurement.types import Interval
from workers.engine.types import Outcome

Objective = Literal["compile", "latency"]
OBJECTIVES: tuple[Objective, ...] = ("compile", "latency")

#: Latency ratio up to which code counts as equally fast, with 95 % confidence.
LOSS = 1.02
#: Smallest relative difference of compile times that counts.
COMPILE_MARGIN = 0.02


def is_open(latency: Interval) -> bool:
    """Whether an interval allows both equal speed and a loss beyond ``LOSS``."""
    return latency.low <= LOSS < latency.high


@dataclass(frozen=True, slots=True)
class PassComparison:
    """A list of passes compared with another one, usually the compiler's own.

    Ratios are this list over the other one, interleaved: below 1 compiles or runs faster.

    Attributes:
        outcome: ``measured``, or the failure class.
        latency: ``None`` also if the measurement is not believed: the other list's code was off the
            level of its latency.
        same_code: Whether both compile to the same code; ``latency`` is then 1 without a
            measurement.
        compile_s: Median compile time of this list.
        raw: Samples and quality of both measurements.
    """

    outcome: Outcome
    detail: str = ""
    compile: Interval | None = None
    latency: Interval | None = None
    same_code: bool = False
    fingerprint: str = ""
    compile_s: float = 0.0
    raw: dict[str, Any] = field(default_factory=dict)

    @property
    def cuts_compile(self) -> bool:
        """Whether it compiles faster and its code is equally fast."""
        return (
            self.compile is not None
            and self.latency is not None
            and self.compile.high < 1
            and self.latency.high <= LOSS
        )

    @property
    def cuts_latency(self) -> bool:
        """Whether its code runs faster."""
        return self.latency is not None and self.latency.high < 1

    @property
    def hurts(self) -> bool:
        """Whether it fails, or its code runs slower by more than ``LOSS``."""
        return self.latency is None or self.latency.low > LOSS

    def score(self, objective: Objective) -> float:
        """The ratio if users may also choose the compiler's own list: never above 1."""
        if objective == "compile":
            return self.compile.value if self.cuts_compile and self.compile else 1.0
        return self.latency.value if self.cuts_latency and self.latency else 1.0


@dataclass(frozen=True, slots=True)
class PassTrial:
    """The trial of one list in a study.

    Attributes:
        role: Why it was tried: ``noise``, ``class``, ``promising``, ``idle``, ``ablation``,
            ``extra``, ``joint``, ``order``, ``factorial`` or ``final``.
        passes: The list, as the backend's option takes it.
        about: The pass or swap that the trial tests.
    """

    number: int
    role: str
    passes: str
    comparison: PassComparison
    about: str = ""
