"""Activities on a version, their environment, and the builds and measurements they produced."""

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
    """What was around something that ran.

    Attributes:
        facts: Device, processor, operating system, sandbox and the like.
        packages: What was installed and of use, with versions.
    """

    facts: dict[str, str | float | bool] = field(default_factory=dict)
    packages: tuple[Software, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Something that was done: a PROV activity, an RO-Crate ``CreateAction``.

    Attributes:
        url: Its identity: the page of the job, build, record or commit.
        ended: ``None`` where nobody told when, as of what authors did before they published.
        agent: Who did it, or asked for it.
        used: Addresses of what went in.
        generated: Addresses of what came out.
        tools: The programs that did it, with versions.
        hardware: Slug of the target it ran on.
        environment: What it ran in, where that is known.
        seed: Of its random numbers.
        within: Identity of the activity that it was a part of.
        parameters: Options and flags; values are texts, numbers or truths.
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
    parameters: dict[str, str | float | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """What one run takes, as a counter of the machine saw it.

    Attributes:
        method: ``measured`` or ``estimated``.
        source: The counter, or the model of an estimate: ``rapl-package``.
    """

    joules: float
    method: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A record of a measurement; times in nanoseconds.

    Attributes:
        id: SHA-256 of the record.
        url: Its page; ``document_url`` has the whole ``hpcfair.bench/1``.
        ratio: Candidate's time over the baseline's: below 1 is faster; with its interval.
        samples: Number of timed runs.
        p95_ns: Absent where there were too few runs to tell, as ``p99_ns``.
        throughput_per_s: Runs per second, one after the other.
        by: Who measured: the hub, or somebody else who repeated what it had measured.
        target, backend: What was measured, where no build tells it.
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
    peak_memory_bytes: int | None = None
    energy: Energy | None = None
    environment: Environment | None = None
    by: Assessor = "hub"
    target: str | None = None
    backend: str | None = None
    reproduces: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildDescription:
    """A build of this version for a target, with the proof of its speed and numerics.

    Attributes:
        reproduced: Whether the hub's latest re-run of the test tensors agreed; ``None`` if there
            was none yet.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A kind of hardware that searches were made on.

    Attributes:
        slug: Name of the target.
        url: Its page.
        facts: What the machines measured on were: processor, cores, memory and the like.
    """

    slug: str
    url: str
    facts: dict[str, str | float | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What the newest inspection found of the safety of the files.

    Attributes:
        is_accepted: Whether the hub runs the network; else ``findings`` say why not.
        findings: What is wrong or odd, a sentence each; none where nothing is.
        url: The page of the inspection.
    """

    is_accepted: bool
    at: datetime
    url: str
    findings: tuple[str, ...] = ()
