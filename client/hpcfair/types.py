"""What the hub answers, as frozen data.

``from_json`` takes what it knows and ignores the rest, so that a newer hub does not break an older
client. Latency ratios are to ONNX Runtime with nothing set, in the same interleaved run: below 1
is faster. Times are nanoseconds, sizes bytes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import itemgetter
from typing import Any, Self, overload


class _FromJson:
    """Reads the fields of a dataclass out of a JSON object."""

    __slots__ = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        known = {}
        for item in fields(cls):  # type: ignore[arg-type]  # every subclass is a dataclass
            name = item.metadata.get("from", item.name)
            if name in data:
                known[item.name] = item.metadata.get("read", _same)(data[name])
        return cls(**known)


def _same(value: Any) -> Any:
    return value


def _many(read: Callable[[Any], Any] = _same, *, source: str = "") -> Any:
    """A tuple field, read item by item from a JSON array that may be null."""
    metadata: dict[str, Any] = {"read": lambda items: tuple(read(item) for item in items or ())}
    return field(default=(), metadata={**metadata, **({"from": source} if source else {})})


@dataclass(frozen=True, slots=True)
class File(_FromJson):
    """A file of a revision or build."""

    path: str
    sha256: str
    size_bytes: int
    url: str = ""


@dataclass(frozen=True, slots=True)
class Ref(_FromJson):
    """A branch or tag, and the revision it names."""

    kind: str
    name: str
    revision: str


@dataclass(frozen=True, slots=True)
class Revision(_FromJson):
    """An immutable snapshot of a model's files."""

    oid: str
    parent: str | None = None
    message: str = ""
    author: str | None = None
    created_at: str = ""
    files: tuple[File, ...] = _many(File.from_json)
    job_uuids: tuple[str, ...] = _many(itemgetter("uuid"), source="jobs")


@dataclass(frozen=True, slots=True)
class Finding(_FromJson):
    """Something to mend in README.md.

    Attributes:
        field: Where it stands in the card, such as ``authors[0].orcid``.
        severity: ``error``: the value is left out of the record; ``warning``: it is taken.
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
class MLModelSummary(_FromJson):
    """A model as a search finds it.

    Attributes:
        signature: ``float32[N,3,64,64] -> float32[N,10]``, once inspected.
        builds: Target to the best build's latency ratio.
    """

    name: str
    title: str = ""
    description: str = ""
    license: str = ""
    task: str = ""
    library: str = ""
    tags: tuple[str, ...] = _many()
    visibility: str = "public"
    downloads: int = 0
    created_at: str = ""
    updated_at: str = ""
    signature: str | None = None
    parameters: int | None = None
    architecture_class: str | None = None
    revision: str | None = None
    builds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MLModel(MLModelSummary):
    """All the hub knows of a model.

    Attributes:
        card: The parsed front matter of README.md.
        graph: Facts read out of the primary ONNX file, once inspected.
        inspection: ``{"state", "code", "detail"}`` of the newest inspection.
    """

    card: dict[str, Any] = field(default_factory=dict)
    readme: str = ""
    refs: tuple[Ref, ...] = _many(Ref.from_json)
    files: tuple[File, ...] = _many(File.from_json)
    graph: dict[str, Any] | None = None
    inspection: dict[str, Any] | None = None
    default_branch: str = "main"


@dataclass(frozen=True, slots=True)
class Build(_FromJson):
    """An artefact published for a target.

    Attributes:
        tolerance: How far outputs may stray by design: exact, fp16, bf16 or int8.
        deviation: How far they do, against the unoptimised float32 reference.
        ratio_low, ratio_high: The ratio's 95 % confidence interval.
        reproduced: Whether it gave the test tensors' outputs when the hub last ran it on them.
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
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    verdict: str = ""
    p50_ns: int | None = None
    deviation: dict[str, float] = field(default_factory=dict)
    accuracy: float | None = None
    accuracy_reference: float | None = None
    record_id: str | None = None
    reproduced: bool | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    files: tuple[File, ...] = _many(File.from_json)
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class Target(_FromJson):
    """A kind of hardware the hub tunes for."""

    slug: str
    title: str = ""
    architecture: str = ""
    features: tuple[str, ...] = _many()
    rank: int = 0
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Trial(_FromJson):
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
class Account(_FromJson):
    """Who the hub thinks you are."""

    name: str
    full_name: str = ""
    email: str = ""
    orcid: str = ""
    affiliation: str = ""
    affiliation_ror: str = ""
    namespaces: tuple[dict[str, str], ...] = _many()
    token: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Hits(Sequence[MLModelSummary]):
    """Models a search found, best first.

    Attributes:
        total: How many there are, shown or not.
        facets: Field to values with their counts.
    """

    items: tuple[MLModelSummary, ...]
    total: int
    facets: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[MLModelSummary]:
        return iter(self.items)

    @overload
    def __getitem__(self, index: int) -> MLModelSummary: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[MLModelSummary, ...]: ...
    def __getitem__(self, index: int | slice) -> MLModelSummary | tuple[MLModelSummary, ...]:
        return self.items[index]
