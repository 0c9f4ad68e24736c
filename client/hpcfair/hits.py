"""What a search says of each model beside its description: speed and similarity."""

from dataclasses import dataclass, field

from hpcfair.fromjson import FromJson, many, optional
from hpcfair.scenarios import SINGLE_STREAM, Execution


@dataclass(frozen=True, slots=True)
class Speed(FromJson):
    """The best build of a model in search results.

    Attributes:
        build: UUID.
        latency_ns: Median latency; in the scenario ``offline`` of a query of many samples.
        default_ns: Latency of the runtime's defaults in the same interleaved run.
        gain: How many times as fast as the defaults; 1 for the defaults themselves.
        gain_low, gain_high: Its 95 % confidence interval.
        tolerance: Tolerance class of the build; may be stricter than accepted.
        accuracy, accuracy_reference: Of the build and of the published network, 0 to 1.
        scenario: What the figures are of: ``offline`` for searches by throughput.
        throughput_per_s: Samples per second; ``None`` for a single stream.
        execution: Batch and streams of that; ``None`` for a single stream.
    """

    build: str
    target: str
    latency_ns: int
    default_ns: int
    gain: float
    gain_low: float | None = None
    gain_high: float | None = None
    tolerance: str = "exact"
    accuracy: float | None = None
    accuracy_reference: float | None = None
    scenario: str = SINGLE_STREAM
    throughput_per_s: float | None = None
    execution: Execution | None = field(default=None, metadata=optional(Execution.from_json))


@dataclass(frozen=True, slots=True)
class Similarity(FromJson):
    """Similarity of a model's network to another one.

    Attributes:
        score: From 0 to 1 for equal structures.
        alike: What they have in common, each in a few words.
    """

    score: float
    alike: tuple[str, ...] = many()
