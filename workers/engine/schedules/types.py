"""The data of a search for schedules. All frozen; all turn into JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from workers.engine.types import Outcome, sha256_of


@dataclass(frozen=True, slots=True)
class ScheduleTask:
    """An operator workload of a network, such as a fused convolution of fixed shape.

    Attributes:
        key: Equal for equal workloads of whatever network; 64 hex digits.
        anchor: Its heaviest operator without shapes, by which similar workloads are found.
        arguments: ``{"dtype", "shape"}`` of each.
        flops: Arithmetic of one call.
        calls: How often one run of the network calls it.
        features: Numbers of fixed length that tell how similar two of one anchor are.
        source: The workload as the compiler reads it again, compressed.
    """

    key: str
    name: str
    anchor: str
    arguments: tuple[dict[str, Any], ...]
    flops: float
    calls: int
    features: tuple[float, ...]
    source: bytes


@dataclass(frozen=True, slots=True)
class ScheduleCandidate:
    """A schedule to try.

    Attributes:
        task: Key of its workload.
        sketch: The instructions without their decisions, as the compiler writes them as JSON.
        decisions: What was decided, in the compiler's form.
        proposed_by: ``evolution``, ``random``, ``transfer`` or ``descent``.
        predicted: The cost model's score before it learnt from this one, higher is faster;
            ``None`` while it knows nothing.
    """

    task: str
    sketch: Any
    decisions: Any
    proposed_by: str
    predicted: float | None = None

    @property
    def digest(self) -> str:
        """Identity of the schedule within its workload."""
        return sha256_of({"sketch": self.sketch, "decisions": self.decisions})


@dataclass(frozen=True, slots=True)
class ScheduleOutcome:
    """How a candidate's build and run ended.

    Attributes:
        outcome: ``measured``, ``pruned`` (so slow that it was timed once only) or a failure class.
        seconds: All raw times of one call; empty after a failure.
        duration_s: What building and timing cost.
    """

    outcome: Outcome
    seconds: tuple[float, ...] = ()
    duration_s: float = 0.0
    detail: str = ""

    @property
    def median_s(self) -> float | None:
        """Median of the raw times, where there are some."""
        return median(self.seconds) if self.seconds else None


@dataclass(frozen=True, slots=True)
class ScheduleTrial:
    """A candidate with its outcome; numbered on within its search."""

    number: int
    candidate: ScheduleCandidate
    result: ScheduleOutcome


@dataclass(frozen=True, slots=True)
class Winner:
    """The best schedule of a workload, timed again in turn with its rivals.

    Attributes:
        seconds: Raw times of that second measurement.
        trace: The whole schedule, ready to be applied, as the compiler writes it as JSON.
    """

    candidate: ScheduleCandidate
    seconds: tuple[float, ...]
    trace: Any

    @property
    def median_s(self) -> float:
        return median(self.seconds)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a workload before a search.

    Attributes:
        trials: Of all searches, oldest first.
        winner: Its best schedule so far, if any was ever confirmed.
    """

    trials: Sequence[ScheduleTrial] = ()
    winner: Winner | None = None


@dataclass(frozen=True, slots=True)
class ScheduleBudget:
    """When a search ends: the first bound reached. ``None`` is unbounded.

    Attributes:
        seconds: Of proposing, building and measuring; the final measurement comes on top.
        trials: Charged trials of this search.
        batch: Proposed at once for one workload; the cost model learns in between.
        enough: Charged trials of a workload, of all searches, after which it is settled.
        patience: Charged trials of a workload without gain after which none is expected.
        noise: Relative gain below which nothing was gained.
        descent: Share of ``seconds`` and ``trials`` kept for the local descent at the end.
        finalists: Best of a workload that are timed again, in turn, before one is called best.
        rounds: Turns each finalist gets.
    """

    seconds: float | None = 300.0
    trials: int | None = None
    batch: int = 8
    enough: int = 512
    patience: int = 96
    noise: float = 0.02
    descent: float = 0.2
    candidates_to_confirm: int = 5
    rounds: int = 6


@dataclass(frozen=True, slots=True)
class ScheduleResult:
    """What a search found.

    Attributes:
        winners: Best schedule of each workload that has one, by key, earlier searches' included.
        improved: Keys of workloads whose best is new.
        charged: Trials that count.
        ended: Why it was over.
    """

    winners: dict[str, Winner] = field(default_factory=dict)
    improved: tuple[str, ...] = ()
    charged: int = 0
    ended: str = ""
