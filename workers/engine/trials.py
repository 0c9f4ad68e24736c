"""Measurements and trials of a search, and results of earlier ones."""

from dataclasses import dataclass, field
from typing import Any

from hpcfair.measurement.ratio import METHOD
from hpcfair.measurement.types import Block, Deviation, Interval, Verdict
from hpcfair.precisions import PRECISION_OF, Tolerance
from workers.engine.types import BuildResult, Candidate, Outcome


@dataclass(frozen=True, slots=True)
class Measurement:
    """Interleaved samples of a candidate and the baseline, with their evaluation.

    Attributes:
        ratio: Over the rounds without contention, as long as there are enough of them.
        candidate_p50_ns, baseline_p50_ns: Median latencies of the same rounds.
        quality: Signs of disturbance, as ``quality`` of ``hpcfair.bench/1``.
        protocol: ``stop_rule``, ``half_width``, ``max_s`` and ``caller_placed`` of the measurement,
            as in ``protocol`` of ``hpcfair.bench/1``; of queries also their scenario and samples.
        peak_rss_bytes: Of the candidate's process; ``None`` if unknown.
        energy: As ``energy`` of ``hpcfair.bench/1``; empty without readable counters.
        method: Of the ratio's interval, as ``comparison.method`` of ``hpcfair.bench/1``.
    """

    blocks: tuple[Block, ...]
    ratio: Interval
    candidate_p50_ns: int
    baseline_p50_ns: int
    verdict: Verdict
    quality: dict[str, Any] = field(default_factory=dict)
    protocol: dict[str, Any] = field(default_factory=dict)
    peak_rss_bytes: int | None = None
    energy: dict[str, Any] = field(default_factory=dict)
    method: str = METHOD

    @property
    def is_believed(self) -> bool:
        """Whether the ratio counts: the baseline was what it is in other measurements."""
        return "baseline_shift" not in self.quality


@dataclass(frozen=True, slots=True)
class Trial:
    """The build, check and measurement of one candidate in a search.

    Attributes:
        number: Within the search, from 0.
        proposed_by: Name of the strategy that proposed it, at most 32 characters.
        duration_s: Of the whole trial.
        deviation: On the test inputs; ``None`` if outputs were not compared.
        accuracy: On labelled samples, 0 to 1.
        predicted_ratio: The strategy's prediction before the trial.
        detail: Why it failed.
    """

    number: int
    candidate: Candidate
    proposed_by: str
    outcome: Outcome
    duration_s: float
    build: BuildResult | None = None
    deviation: Deviation | None = None
    accuracy: float | None = None
    measurement: Measurement | None = None
    predicted_ratio: float | None = None
    detail: str = ""

    @property
    def ratio(self) -> float | None:
        """Latency ratio to the baseline; ``None`` if it was not measured."""
        return self.measurement.ratio.value if self.measurement else None

    @property
    def is_believed(self) -> bool:
        """Whether its ratio counts: the baseline beside it was what it is in other trials."""
        return self.measurement is None or self.measurement.is_believed

    @property
    def tolerance(self) -> Tolerance:
        """Tolerance class of the build; the strictest without a build."""
        return self.build.tolerance if self.build else "exact"

    @property
    def relative_error(self) -> float | None:
        """The error that users limit by a number, see :class:`hpcfair.outputlimits.BuildFacts`;
        ``None`` if outputs were not compared."""
        return self.deviation.relative_l2 if self.deviation else None


#: Relative errors that users usually state as their limit. The fastest build within each is
#: confirmed.
ERROR_LIMITS = (0.005, 0.01, 0.02)
#: Option of candidates whose builds keep to a relative error: the error.
LIMIT = "limit"
#: Entry of a build's provenance: the ``limit`` on its error, and the precision of each layer.
MIXED_PRECISION = "mixed_precision"
#: Relative error up to which builds are equally close: sums in another order, not less precision.
_SAME_ERROR = PRECISION_OF["exact"].relative_l2
#: Share of another build's error below which a build is considerably closer to the reference.
_CLOSER = 0.5


def is_closer(error: float | None, other: float | None) -> bool:
    """Whether a build is considerably closer to the reference than another, or within one of
    :data:`ERROR_LIMITS` that the other exceeds.

    Users who limit the error by a number may accept only this one. Both are relative errors as of
    :attr:`Trial.relative_error`; one that was not measured is no closer.
    """
    if error is None or other is None or other <= _SAME_ERROR:
        return False
    return error < _CLOSER * other or any(error <= limit < other for limit in ERROR_LIMITS)


def error_limit(build: BuildResult) -> float | None:
    """The relative error that a build was made to keep to, if it was."""
    limit = build.provenance.get(MIXED_PRECISION, {}).get("limit")
    return None if limit is None else float(limit)


@dataclass(frozen=True, slots=True)
class Prior:
    """A candidate's result in an earlier search of the same key."""

    candidate: Candidate
    ratio: float
    tolerance: Tolerance


@dataclass(frozen=True, slots=True)
class Experience:
    """A candidate's result in a search of another network or target.

    Attributes:
        outcome: ``measured``, ``pruned`` or the failure class; never ``infrastructure``.
        ratio: ``None`` if it was not timed; rough for a pruned candidate.
        network: Hash of the structure. Ratios are comparable within one network and target.
        embedding: Of the network's structure, of unit length; empty if unknown.
        features: Of the target.
        seconds: Duration of the trial.
    """

    candidate: Candidate
    outcome: Outcome
    tolerance: Tolerance
    ratio: float | None
    network: str
    architecture_class: str
    embedding: tuple[float, ...]
    target: str
    features: frozenset[str]
    seconds: float
