"""The data of a search for schedules. All types are frozen and turn into JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from workers.engine.types import Outcome, sha256_of


@dataclass(frozen=True, slots=True)
class ScheduleTask:
    """An operator workload of a network, such as a fused convolution of fixed shape.

    Attributes:
        key: Equal for equal workloads of any networks; 64 hex digits.
        anchor: Its heaviest operator without shapes. Workloads of one anchor are similar.
        arguments: ``{"dtype", "shape"}`` of each.
        flops: Floating-point operations of one call.
        calls: Number of calls in one run of the network.
        features: Vector of fixed length; its distance measures similarity within one anchor.
        source: The workload in the compiler's own format, compressed.
        structural_hash: By which the compiler's databases find it; "" if it is not stored.
        blocks: ``{"name", "axes": [{"name", "kind", "extent"}], "consumers": [names]}`` of each of
            its blocks, from which decisions get their names.
        target: The target as the compiler takes it.
    """

    key: str
    name: str
    anchor: str
    arguments: tuple[dict[str, Any], ...]
    flops: float
    calls: int
    features: tuple[float, ...]
    source: bytes
    structural_hash: str = ""
    blocks: tuple[dict[str, Any], ...] = ()
    target: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScheduleCandidate:
    """A schedule to try.

    Attributes:
        task: Key of its workload.
        sketch: The instructions without their decisions, as the compiler writes them as JSON.
        decisions: Values of the sketch's decisions, in the compiler's format.
        proposed_by: ``evolution``, ``random``, ``transfer``, ``principle``, ``descent`` or
            ``ablation``.
        predicted: The cost model's score before it learned from this schedule, higher is faster;
            ``None`` without a model.
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
    """The result of building and timing a candidate.

    Attributes:
        outcome: ``measured``, ``pruned`` (so slow that it was timed only once) or a failure class.
        seconds: All times of one call; empty after a failure.
        duration_s: Of building and timing.
    """

    outcome: Outcome
    seconds: tuple[float, ...] = ()
    duration_s: float = 0.0
    detail: str = ""

    @property
    def median_s(self) -> float | None:
        """Median of the times; ``None`` without any."""
        return median(self.seconds) if self.seconds else None


@dataclass(frozen=True, slots=True)
class ScheduleTrial:
    """A candidate with its outcome, numbered within its search."""

    number: int
    candidate: ScheduleCandidate
    result: ScheduleOutcome


@dataclass(frozen=True, slots=True)
class Winner:
    """The best schedule of a workload, confirmed in turns with the next best ones.

    Attributes:
        seconds: Times of one call in the confirmation.
        trace: The whole schedule, ready to be applied, as the compiler writes it as JSON.
    """

    candidate: ScheduleCandidate
    seconds: tuple[float, ...]
    trace: Any

    @property
    def median_s(self) -> float:
        return median(self.seconds)


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """Trials of all searches for a workload, oldest first, and its best confirmed schedule."""

    trials: Sequence[ScheduleTrial] = ()
    winner: Winner | None = None


@dataclass(frozen=True, slots=True)
class ScheduleBudget:
    """Bounds on a search; the first one reached ends it. ``None`` is unbounded.

    Attributes:
        seconds: Of proposing, building and measuring; confirmation comes on top.
        trials: Charged trials of this search.
        batch: Candidates proposed at once for one workload; the cost model learns in between.
        enough: Charged trials of a workload, of all searches, after which it is settled.
        patience: Consecutive charged trials of a workload without gain after which it is settled.
        noise: Smallest relative gain that counts.
        descent: Share of ``seconds`` and ``trials`` reserved for the local descent at the end.
        candidates_to_confirm: Best schedules of a workload that are timed again, in turns.
        rounds: Turns of each of them.
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
    """The result of a search for schedules.

    Attributes:
        winners: Key to the best schedule of each workload, including those of earlier searches.
        improved: Keys of workloads with a new best schedule.
        stop_reason: Why it stopped, as readable text.
    """

    winners: dict[str, Winner] = field(default_factory=dict)
    improved: tuple[str, ...] = ()
    charged_trials: int = 0
    stop_reason: str = ""
