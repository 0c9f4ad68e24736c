"""What principles are judged by: measured schedules, reverted decisions, and the bar."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from hpcfair.traits import VERSION

#: The method by which principles are judged; part of their identity.
METHOD: Final[dict[str, Any]] = {
    "traits": VERSION,
    "fast": 0.1,
    "test": "Fisher's exact test, two-sided",
    "correction": "Benjamini-Hochberg over all traits and workloads of the operator",
    "q": 0.05,
    "least_trials": 40,
    "least_workloads": 3,
    "least_ablations": 2,
}

#: Schedule as sketch, decisions and median time in seconds.
Timed = tuple[Any, Any, float]


@dataclass(frozen=True, slots=True)
class WorkloadTrials:
    """Measured schedules of a workload on one target.

    ``workload`` identifies it; workloads of equal ``key`` on several targets count once.
    """

    workload: str
    key: str
    name: str
    target: str
    trials: Sequence[Timed]


@dataclass(frozen=True, slots=True)
class RevertedDecision:
    """An ablation with a clear verdict: the best schedule, the variant, and how it compares.

    ``name`` is that of the workload. ``is_slower``: whether the variant is slower; otherwise it is
    faster.
    """

    ablation: str
    workload: str
    key: str
    sketch: Any
    best: Any
    variant: Any
    ratio: float
    low: float
    high: float
    is_slower: bool
    name: str = ""
