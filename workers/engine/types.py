"""The data that the engine's roles pass to each other. All frozen; all turn into JSON.

Times are nanoseconds (``_ns``) or seconds (``_s``), sizes bytes (``_bytes``), ratios latency of
the candidate over latency of the baseline in the same interleaved run: below 1 is faster.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hpcfair.measurement.types import Block, Deviation, Interval, Verdict
from hpcfair.precisions import Tolerance

Outcome = Literal[
    "measured", "pruned", "infrastructure", "invalid", "timeout", "crash", "wrong-output"
]
Options = dict[str, str | int | float | bool]


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces: equal values give equal bytes.

    Non-finite numbers are refused (ValueError), since JSON has none.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def sha256_of(value: Any) -> str:
    """Hex SHA-256 of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One input or output: a dimension is an integer, or a name where it is dynamic."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class AlternativeFormat:
    """Another file of the same network, published beside it.

    Attributes:
        format: Name of a :class:`hpcfair.formats.FileFormat`, such as ``torch-export``.
        path: The file, in the same private folder as the ONNX file.
    """

    format: str
    path: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class Network:
    """A network to tune: its file and what is known of it.

    Attributes:
        model_path: The ONNX file, in a private folder beside its external data; or a TensorFlow
            Lite file, where that is all there is. Then it is among ``alternatives``, too.
        graph_hash: Structure hash; keys what searches may share.
        samples_path: ``.npz`` of test tensors, or ``None``. Its arrays are named
            ``inputs/<tensor>`` (required, each ``[n, ...]``), ``outputs/<tensor>`` and ``labels``
            (``int64[n]``, of a classifier whose first output is scores ``[n, classes]``).
        dimensions: Sizes to use for named dimensions when tensors are made up.
        integer_bounds: Integer input to the number of rows of the table it indexes, where known:
            made-up values stay below it.
        alternatives: Other files of the same network, which some backends require.
        passes: Backend to the lists of compiler passes that serve this architecture class well on
            this target, best first, each as the value of that backend's option ``passes``.
        schedules_path: Schedules tuned for this target, in the same private folder as the ONNX
            file (JSON lines, see :mod:`workers.backends.tvm.database`); ``None`` without any.
    """

    model_path: Path
    model_sha256: str
    graph_hash: str
    architecture_class: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    operators: dict[str, int]
    parameters: int
    macs: int | None
    embedding: tuple[float, ...] = ()
    samples_path: Path | None = None
    dimensions: dict[str, int] = field(default_factory=dict)
    integer_bounds: dict[str, int] = field(default_factory=dict)
    alternatives: tuple[AlternativeFormat, ...] = ()
    passes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    schedules_path: Path | None = None


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """The machine the search is for, as ``hpcfair.machine.describe()`` tells it.

    Attributes:
        slug: Name of the target, such as ``x86-64-avx512``.
        features: Instruction-set and accelerator features.
        cores: Physical cores the process may use.
        memory_bytes: What the process may use; ``None`` if unknown.
        facts: The whole description, kept in records.
    """

    slug: str
    architecture: str
    features: frozenset[str]
    cores: int
    memory_bytes: int | None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A point to try: a backend and its options."""

    backend: str
    options: Options

    @property
    def sha256(self) -> str:
        """Identity of the configuration, equal for equal backend and options."""
        return sha256_of({"backend": self.backend, "options": self.options})

    @property
    def name(self) -> str:
        """For people."""
        options = " ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.backend} {options}"

    def as_dict(self) -> dict[str, Any]:
        return {"backend": self.backend, "options": dict(self.options)}


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A built candidate, or why there is none: never both.

    Attributes:
        directory: Holds the artefact's files; ``None`` after a failure.
        entry_point: The file of ``directory`` the runtime opens.
        runtime: Name in ``hpcfair.runtimes``.
        runtime_options: Passed to the runtime when it opens the artefact.
        tolerance: How far its outputs may stray by design.
        outcome: ``measured`` stands for "built"; else the failure class.
        toolchain: Package name to version, of everything that shaped the artefact.
        provenance: How it was made, where the options do not say it all: calibration, operators
            left alone, hardware features baked in; ``"reproducible": false`` where building again
            may give other bytes. JSON.
    """

    outcome: Outcome
    directory: Path | None = None
    entry_point: str = ""
    runtime: str = ""
    runtime_options: Options = field(default_factory=dict)
    tolerance: Tolerance = "exact"
    compile_s: float = 0.0
    peak_rss_bytes: int | None = None
    toolchain: dict[str, str] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Interleaved samples of a candidate and the baseline, with what they say.

    Attributes:
        ratio: Over the rounds that nothing else disturbed, while enough were left alone.
        candidate_p50_ns, baseline_p50_ns: Over the same rounds.
        quality: Signs of trouble, as ``quality`` of ``hpcfair.bench/1``.
        protocol: ``stop_rule``, ``half_width`` and ``max_s`` it was measured under.
        peak_rss_bytes: Of the candidate's process, where known.
        energy: As ``energy`` of ``hpcfair.bench/1``; empty where nothing could be read.
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


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate's way through build, check and measurement."""

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
        """Latency ratio to the baseline, where measured."""
        return self.measurement.ratio.value if self.measurement else None

    @property
    def tolerance(self) -> Tolerance:
        """Tolerance class of the build; the strictest where there is none."""
        return self.build.tolerance if self.build else "exact"


@dataclass(frozen=True, slots=True)
class Prior:
    """What an earlier search of the same key found about a candidate."""

    candidate: Candidate
    ratio: float
    tolerance: Tolerance


@dataclass(frozen=True, slots=True)
class Experience:
    """What a search of another network, or on another target, found about a candidate.

    Attributes:
        outcome: ``measured``, ``pruned`` or how it failed; never ``infrastructure``.
        ratio: Where it was timed; rough for a pruned one.
        network: Hash of the structure, with ``target`` what trials are compared within.
        embedding: Of the network's structure, of unit length; empty where unknown.
        features: Of the target.
        seconds: The whole trial took.
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


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child process may use. Reaching a limit ends the child, never the worker."""

    wall_s: float = 300.0
    memory_bytes: int = 8 * 2**30
    file_bytes: int = 8 * 2**30


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """When a search ends: the first bound reached. ``None`` is unbounded.

    Attributes:
        seconds: Of building, checking and measuring, over all attempts of a resumed search; the
            final measurement of the best comes on top.
        trials: Charged trials; infrastructure failures are not charged.
        patience: Charged trials without a gain beyond noise after which no more gain is expected.
        seconds_per_measurement: Cap on one measurement in one process.
        half_width: Relative half-width of the ratio's 95 % interval at which a measurement stops
            early.
        candidates_to_confirm: Best candidates of each tolerance class that are measured again at
            the end, in confirmation runs.
        confirmation_processes: Fresh processes per side at most in the confirmation of one
            candidate; as many as its interval needs.
        confirmation_half_width: As ``half_width``, for confirmation runs.
        confirmation_seconds: Cap on all confirmation runs together; a few processes of the best of
            each class run whatever they take.
    """

    seconds: float | None = 120.0
    trials: int | None = 32
    patience: int | None = 16
    seconds_per_measurement: float = 4.0
    half_width: float = 0.03
    candidates_to_confirm: int = 3
    confirmation_processes: int = 10
    confirmation_half_width: float = 0.01
    confirmation_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class TuningRequest:
    """Everything a search needs, so that it runs without a hub.

    ``reference_backend`` provides both the reference for outputs and the baseline for latency.
    """

    network: Network
    target: TargetSpec
    backends: tuple[str, ...]
    budget: SearchBudget = field(default_factory=SearchBudget)
    limits: Limits = field(default_factory=Limits)
    strategy: str = "learned"
    seed: int = 0
    reference_backend: str = "onnxruntime"
