"""Activities on a version, with environments, builds, measurements, assessment and withdrawal."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from registry.fair.parts import Agent, Assessor, FileDescription, Software

ActivityKind = Literal[
    "publish",
    "train",
    "merge",
    "inspect",
    "tune",
    "compile",
    "quantise",
    "convert",
    "benchmark",
    "fork",
    "reproduce",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Environment of an activity or measurement: facts of machine and system, package versions."""

    facts: dict[str, str | float | bool] = field(default_factory=dict)
    packages: tuple[Software, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """A PROV activity, an RO-Crate ``CreateAction``.

    Attributes:
        url: Its identity: the page of the job, build, record or commit.
        ended: ``None`` if unknown, as for work of authors before publication.
        agent: The person or organisation that performed or requested it.
        used, generated: Addresses of its inputs and outputs.
        hardware: Slug of the target it ran on.
        seed: Seed of its random numbers.
        within: Identity of the activity that it is part of.
        informed_by: Identities of the activities whose results it passed on.
    """

    url: str
    kind: ActivityKind
    title: str
    ended: datetime | None
    started: datetime | None = None
    agent: Agent | None = None
    used: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()
    tools: tuple[Software, ...] = ()
    hardware: str | None = None
    environment: Environment | None = None
    seed: int | None = None
    within: str | None = None
    informed_by: tuple[str, ...] = ()
    parameters: dict[str, str | float | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Energy of one run, ``measured`` or ``estimated``; ``source`` is the counter, such as ``rapl-
    package``, or the model of the estimate."""

    joules: float
    method: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A benchmark record; times in nanoseconds.

    Attributes:
        id: SHA-256 of the record.
        document_url: The whole record, of schema ``hpcfair.bench/1``; "" if it was deleted.
            ``url`` is then a name only.
        ratio: Candidate's latency over the baseline's, with its confidence interval; below 1 is
            faster.
        samples: Number of timed runs.
        p95_ns, p99_ns: Absent if there were too few runs.
        scenario: Such as ``offline``, of :mod:`hpcfair.scenarios`. Times are those of a run, which
            is one sample or a query of ``samples_per_run``.
        throughput_per_s: Samples per second.
        by: "third party" if a user repeated a measurement of the hub.
        target, backend: Only of records without a build.
        reproduces: SHA-256 of the record that this one repeats.
    """

    id: str
    url: str
    document_url: str
    baseline: str
    p50_ns: int
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    measured: datetime | None = None
    samples: int | None = None
    mean_ns: float | None = None
    p90_ns: float | None = None
    p95_ns: float | None = None
    p99_ns: float | None = None
    throughput_per_s: float | None = None
    scenario: str | None = None
    samples_per_run: int | None = None
    peak_memory_bytes: int | None = None
    energy: Energy | None = None
    environment: Environment | None = None
    by: Assessor = "hub"
    target: str | None = None
    backend: str | None = None
    reproduces: str | None = None

    @property
    def page_url(self) -> str | None:
        """Address of its page; ``None`` if it was deleted."""
        return self.url if self.document_url else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildDescription:
    """A build of this version for a target, with its measured speed and numerics.

    Attributes:
        deviation: Measures of the difference between its outputs and the reference's.
        accuracy, accuracy_reference: Share of correct samples, of the build and the reference.
        reproduced: Whether the latest run of the test tensors agreed; ``None`` before the first.
        is_available: False if it was deleted: ``url`` is then a name only.
    """

    uuid: str
    url: str
    target: str
    processor: str | None
    backend: str
    tolerance: str
    entry_point: str
    files: tuple[FileDescription, ...]
    benchmark: Benchmark
    created: datetime
    options: dict[str, str | float | bool] = field(default_factory=dict)
    tools: tuple[Software, ...] = ()
    deviation: dict[str, float] = field(default_factory=dict)
    accuracy: float | None = None
    accuracy_reference: float | None = None
    is_baseline: bool = False
    reproduced: bool | None = None
    is_available: bool = True

    @property
    def page_url(self) -> str | None:
        """Address of its page; ``None`` if it was deleted."""
        return self.url if self.is_available else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A target that searches ran on; ``facts`` are properties of the measuring machine."""

    slug: str
    url: str
    facts: dict[str, str | float | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Safety findings of the newest inspection, a sentence each. If ``is_accepted``, the hub runs
    the network; otherwise ``findings`` have the reason. ``url`` is the job, whose page has been
    deleted unless ``is_available``."""

    is_accepted: bool
    at: datetime
    url: str
    findings: tuple[str, ...] = ()
    is_available: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """When and why a version was withdrawn."""

    at: datetime
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FairScore:
    """The newest FAIR assessment: earned and attainable points."""

    points: float
    of: float
    at: datetime
    tool: str
    url: str
