"""The request of a search: network, target, budget and limits."""

from dataclasses import dataclass, field

from hpcfair.isolation.limits import Limits
from workers.engine.types import Network, TargetSpec


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """Bounds on a search; the first one reached ends it. ``None`` is unbounded.

    Attributes:
        seconds: Duration of all trials, including those of earlier attempts, without confirmation
            runs.
        trials: Charged trials; infrastructure failures are not charged.
        patience: Consecutive charged trials without a gain beyond noise.
        seconds_per_measurement: Cap on one measurement in one process.
        half_width: Relative half-width of the ratio's 95 % interval at which a measurement stops.
        candidates_to_confirm: Best candidates of each tolerance class that get confirmation runs.
        confirmation_processes: Most fresh processes per side in the confirmation of one candidate;
            fewer if its outcome is decided.
        confirmation_half_width: As ``half_width``, for confirmation runs.
        confirmation_seconds: Cap on all confirmation runs together, except for a few processes of
            the best candidate of each class.
    """

    seconds: float | None = 120.0
    trials: int | None = 32
    patience: int | None = 16
    seconds_per_measurement: float = 4.0
    half_width: float = 0.03
    candidates_to_confirm: int = 3
    confirmation_processes: int = 20
    confirmation_half_width: float = 0.01
    confirmation_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class TuningRequest:
    """All inputs of a search that do not come from its store.

    Attributes:
        reference_backend: Provides the reference for outputs.
        baseline_backend: Provides the baseline for latency; ``None``: that of the reference.
        banned: ``sha256`` of candidates that are neither tried nor confirmed, because machines went
            down while they ran. The baseline is always tried, since a search needs it.
        normaliser: ``module:function`` that writes the normal form of the network in a child
            process (:mod:`workers.engine.normalform`); ``None``: builds are made from the
            published file.
        batch_opener: ``module:function`` that opens the batch of a network of one row in a child
            process (:mod:`workers.engine.openbatch`); ``None``: it stays fixed.
    """

    network: Network
    target: TargetSpec
    backends: tuple[str, ...]
    budget: SearchBudget = field(default_factory=SearchBudget)
    limits: Limits = field(default_factory=Limits)
    strategy: str = "learned"
    seed: int = 0
    reference_backend: str = "onnxruntime"
    baseline_backend: str | None = None
    banned: frozenset[str] = frozenset()
    normaliser: str | None = None
    batch_opener: str | None = None
