"""Responses of the hub as immutable data.

``from_json`` ignores unknown fields, so that an older client works with a newer hub. Latency ratios
are relative to ONNX Runtime's defaults in the same interleaved run: below 1 is faster. Times are
nanoseconds, sizes bytes.
"""

from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from hpcfair.fromjson import FromJson, many, optional
from hpcfair.hits import Similarity, Speed
from hpcfair.scenarios import SINGLE_STREAM, Execution


@dataclass(frozen=True, slots=True)
class File(FromJson):
    """A file of a revision or build. ``oid``: git's id, if known."""

    path: str
    sha256: str
    size_bytes: int
    url: str = ""
    oid: str = ""


@dataclass(frozen=True, slots=True)
class Ref(FromJson):
    """A branch or tag with its revision."""

    kind: str
    name: str
    revision: str


@dataclass(frozen=True, slots=True)
class Revision(FromJson):
    """An immutable snapshot of a model's files."""

    oid: str
    parent: str | None = None
    message: str = ""
    author: str | None = None
    created_at: str = ""
    files: tuple[File, ...] = many(File.from_json)
    job_uuids: tuple[str, ...] = many(itemgetter("uuid"), source="jobs")


@dataclass(frozen=True, slots=True)
class Finding(FromJson):
    """A finding in README.md.

    Attributes:
        field: Its place in the card, such as ``authors[0].orcid``.
        severity: ``error``: the value is omitted from the metadata record; ``warning``: it is used.
    """

    line: int
    field: str
    code: str
    message: str
    fix: str
    severity: str = "error"

    def __str__(self) -> str:
        return f"README.md, line {self.line}: {self.message} {self.fix}"


@dataclass(frozen=True, slots=True)
class MLModelSummary(FromJson):
    """A model in search results.

    Attributes:
        builds: Target to the best exact build's latency ratio.
        size_bytes: Of its files.
        fair_percent: FAIR score.
        state: ``{"progress", "reason"}``: how far it is tuned, and why it failed or cannot run.
        speed: Of the best build on the target of the search, within its tolerance class.
        similarity: To the model of ``similar``.
    """

    name: str
    title: str = ""
    description: str = ""
    license: str = ""
    task: str = ""
    library: str = ""
    tags: tuple[str, ...] = many()
    visibility: str = "public"
    downloads: int = 0
    created_at: str = ""
    updated_at: str = ""
    signature: str | None = None
    parameters: int | None = None
    architecture_class: str | None = None
    revision: str | None = None
    builds: dict[str, float] = field(default_factory=dict)
    size_bytes: int | None = None
    fair_percent: float | None = None
    state: dict[str, str] = field(default_factory=dict)
    speed: Speed | None = field(default=None, metadata=optional(Speed.from_json))
    similarity: Similarity | None = field(default=None, metadata=optional(Similarity.from_json))


@dataclass(frozen=True, slots=True)
class MLModel(MLModelSummary):
    """Everything that the hub states about a model.

    Attributes:
        card: The parsed front matter of README.md.
        graph: Facts of the primary network, once inspected.
        inspection: ``{"state", "code", "detail"}`` of the newest inspection.
        not_runnable: ``{"code", "reason", "remedy"}`` if the revision cannot be loaded.
        inconclusive: Target to tolerance classes whose measurements decided nothing.
        probable_gains: Target to tolerance class to how many times as fast as the default a build
            probably is that is still being confirmed.
        origin: ``{"url", "commit", "revision", "imported_at"}`` if it was imported; ``revision`` is
            that of the import on this hub.
        is_held: Whether it is private only until its first files have passed their checks.
    """

    card: dict[str, Any] = field(default_factory=dict)
    readme: str = ""
    refs: tuple[Ref, ...] = many(Ref.from_json)
    files: tuple[File, ...] = many(File.from_json)
    graph: dict[str, Any] | None = None
    inspection: dict[str, Any] | None = None
    not_runnable: dict[str, str] | None = None
    inconclusive: dict[str, list[str]] = field(default_factory=dict)
    probable_gains: dict[str, dict[str, float]] = field(default_factory=dict)
    is_held: bool = False
    default_branch: str = "main"
    origin: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Build(FromJson):
    """An artefact published for a target.

    Attributes:
        tolerance: Tolerance class: exact, fp16, bf16 or int8.
        deviation: Measured deviation from the unoptimised float32 reference.
        relative_error: Largest relative L2 error, as a number for ``tolerance`` limits it.
        limit: The number for ``tolerance`` with which it is loaded; ``None`` off the Pareto front.
        ratio_low, ratio_high: The ratio's 95 % confidence interval.
        scenario: What its figures are of: ``single-stream``, ``multi-stream`` or ``offline``.
        execution: Batch and streams that it was measured with; ``None`` for a single stream.
        throughput_per_s: Samples per second; ``None`` for a single stream.
        reproduced: Whether its newest run on the test tensors gave the expected outputs.
    """

    uuid: str
    target: str
    backend: str
    runtime: str
    entry_point: str
    tolerance: str = "exact"
    runtime_options: dict[str, Any] = field(default_factory=dict)
    candidate: dict[str, Any] = field(default_factory=dict)
    is_baseline: bool = False
    is_best: bool = False
    limit: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    verdict: str = ""
    p50_ns: int | None = None
    scenario: str = SINGLE_STREAM
    execution: Execution | None = field(default=None, metadata=optional(Execution.from_json))
    throughput_per_s: float | None = None
    deviation: dict[str, float] = field(default_factory=dict)
    relative_error: float | None = None
    accuracy: float | None = None
    accuracy_reference: float | None = None
    record_id: str | None = None
    reproduced: bool | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    files: tuple[File, ...] = many(File.from_json)
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class Target(FromJson):
    """A hardware target of the hub."""

    slug: str
    title: str = ""
    architecture: str = ""
    features: tuple[str, ...] = many()
    rank: int = 0
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Trial(FromJson):
    """A candidate that was built, checked and run once in a search."""

    uuid: str
    number: int
    outcome: str
    candidate: dict[str, Any] = field(default_factory=dict)
    proposed_by: str = ""
    predicted_ratio: float | None = None
    failure_detail: str = ""
    tolerance: str = ""
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    p50_ns: int | None = None
    deviation: dict[str, float] = field(default_factory=dict)
    accuracy: float | None = None
    compile_s: float | None = None
    duration_s: float | None = None
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class Account(FromJson):
    """The account of the current token."""

    name: str
    full_name: str = ""
    email: str = ""
    orcid: str = ""
    affiliation: str = ""
    affiliation_ror: str = ""
    namespaces: tuple[dict[str, str], ...] = many()
    token: dict[str, Any] | None = None
    quotas: tuple[dict[str, Any], ...] = many()
