"""What a list of passes is worth: two objectives, and when a list serves one of them."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from hpcfair.measurement.types import Interval
from workers.engine.types import Outcome

Objective = Literal["compile", "latency"]
OBJECTIVES: tuple[Objective, ...] = ("compile", "latency")

#: Code that runs at most this much longer, with 95 % confidence, counts as running as fast.
LOSS = 1.02
#: Compile times closer than this are the same to anybody.
COMPILE_MARGIN = 0.02


def is_open(latency: Interval) -> bool:
    """Whether code with this ratio of latencies may run as fast and may lose more than counts."""
    return latency.low <= LOSS < latency.high


@dataclass(frozen=True, slots=True)
class PassComparison:
    """A list of passes beside another, usually the compiler's own.

    Ratios are this list over the other, interleaved: below 1 compiles or runs faster.

    Attributes:
        outcome: ``measured``, or the class of its failure.
        same_code: Both compile to the same code, so ``latency`` is 1 without measuring.
        compile_s: Median seconds this list compiles in.
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
        """Compiles faster, and what it makes runs as fast."""
        return (
            self.compile is not None
            and self.latency is not None
            and self.compile.high < 1
            and self.latency.high <= LOSS
        )

    @property
    def cuts_latency(self) -> bool:
        """What it makes runs faster."""
        return self.latency is not None and self.latency.high < 1

    @property
    def hurts(self) -> bool:
        """Fails, or what it makes runs slower beyond what counts as loss."""
        return self.latency is None or self.latency.low > LOSS

    def score(self, objective: Objective) -> float:
        """The ratio a user gets who may also keep the compiler's own list: never above 1."""
        if objective == "compile":
            return self.compile.value if self.cuts_compile and self.compile else 1.0
        return self.latency.value if self.cuts_latency and self.latency else 1.0


@dataclass(frozen=True, slots=True)
class PassTrial:
    """One list of a study.

    Attributes:
        role: Why it was tried: ``noise``, ``class``, ``promising``, ``idle``, ``ablation``,
            ``extra``, ``joint``, ``order``, ``factorial`` or ``final``.
        passes: The list, as the backend's option takes it.
        about: The pass, or change of order, that an ablation is about.
    """

    number: int
    role: str
    passes: str
    comparison: PassComparison
    about: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)
