"""Networks, targets, candidates and builds. All types are frozen and turn into JSON.

Imports no NumPy: confined child processes load this module first. Times are nanoseconds (``_ns``)
or seconds (``_s``), sizes bytes (``_bytes``).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hpcfair.precisions import Tolerance
from workers.engine.convolutions import ConvolutionSizes

Outcome = Literal[
    "measured", "pruned", "infrastructure", "invalid", "timeout", "crash", "wrong-output"
]
Options = dict[str, str | int | float | bool]


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces: equal values give equal bytes. Raises ValueError
    for a number that is not finite, which JSON lacks."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def sha256_of(value: Any) -> str:
    """Hex SHA-256 of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output. A dimension is an integer, or a name if it is dynamic."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


def tensor_specs(documents: Iterable[Mapping[str, Any]]) -> tuple[TensorSpec, ...]:
    """Inputs or outputs from their JSON: ``name``, ``dtype`` and ``shape`` of each."""
    return tuple(
        TensorSpec(each["name"], each["dtype"], tuple(each["shape"])) for each in documents
    )


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
class SharedFolders:
    """Folders of intermediate files that builds share (:mod:`workers.engine.intermediates`).

    Attributes:
        existing: Those that earlier builds made; children may only read it.
        added: Where a build adds its own.
    """

    existing: Path
    added: Path


@dataclass(frozen=True, slots=True)
class Network:
    """A network to tune: its files and facts.

    Attributes:
        model_path: The ONNX file, in a private folder beside its external data; or a TensorFlow
            Lite file if there is no other, which is then in ``alternatives`` as well.
        graph_hash: Hash of the structure; searches of equal hashes share results.
        macs: Multiply-accumulates of one run; ``None`` if unknown.
        embedding: Of the structure, of unit length; empty if unknown.
        samples_path: ``.npz`` of test tensors, or ``None``. Its arrays are named
            ``inputs/<tensor>`` (required, each ``[n, ...]``), ``outputs/<tensor>`` and ``labels``
            (``int64[n]``, of a classifier whose first output is scores ``[n, classes]``).
        dimensions: Sizes of named dimensions for random tensors.
        integer_bounds: Integer input to the number of rows of the table that it indexes, where
            known: exclusive upper bound of random values.
        convolutions: The distinct convolutions with stride 1, one group and constant weights.
        alternatives: Other files of the same network, which some backends require.
        passes: Backend to the lists of compiler passes that serve this architecture class on this
            target, best first, each as a value of the backend's option ``passes``.
        schedules_path: Schedules tuned for this target, in the same private folder as the ONNX
            file (JSON lines, see :mod:`workers.backends.tvm.database`); ``None`` without any.
        normal_path: The normal form of the ONNX file, in a private folder of its own; ``None`` if
            builds convert the published file.
        shared: Folders of intermediate files; ``None`` if builds share none.
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
    convolutions: tuple[ConvolutionSizes, ...] = ()
    alternatives: tuple[AlternativeFormat, ...] = ()
    passes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    schedules_path: Path | None = None
    normal_path: Path | None = None
    shared: SharedFolders | None = None

    @property
    def source_path(self) -> Path:
        """The file that builds are made from: the normal form, or else the published file."""
        return self.normal_path or self.model_path


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """The machine that a search is for, as ``hpcfair.machine.describe()`` reports it.

    Attributes:
        slug: Name of the target, such as ``x86-64-avx512``.
        features: Instruction-set and accelerator features.
        cores: Physical cores that the process may use.
        memory_bytes: Memory that the process may use; ``None`` if unknown.
        facts: The whole description, for records.
    """

    slug: str
    architecture: str
    features: frozenset[str]
    cores: int
    memory_bytes: int | None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration to try: a backend and its options."""

    backend: str
    options: Options

    @property
    def sha256(self) -> str:
        """Identity of the configuration, equal for equal backend and options."""
        return sha256_of({"backend": self.backend, "options": self.options})

    @property
    def name(self) -> str:
        """Backend and options as one line of text."""
        options = " ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.backend} {options}"

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"backend": self.backend, "options": dict(self.options)}


@dataclass(frozen=True, slots=True)
class SampleQuery:
    """A run of many samples, all of which are there from the start.

    Attributes:
        samples: Number of samples of a run.
        batch: Samples that are computed at once.
        streams: Batches that are computed at the same time.
        by_row: Whether a sample is a row of the inputs, else one whole input.
    """

    samples: int
    batch: int = 1
    streams: int = 1
    by_row: bool = True


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A build, or the reason why there is none.

    Attributes:
        outcome: ``measured`` if it was built; otherwise the failure class.
        directory: Folder of the artefact's files; ``None`` after a failure.
        entry_point: The file in ``directory`` that the runtime opens.
        runtime: Name in ``hpcfair.runtimes``.
        runtime_options: For the runtime, when it opens the artefact.
        tolerance: Class of the deviation that its precision implies.
        compile_s: Duration of the build.
        toolchain: Package name to version, of everything that shaped the artefact.
        provenance: How it was built, beyond the options: calibration, operators left alone,
            hardware features baked in; ``"reproducible": false`` if building again may give other
            bytes. JSON.
        detail: Why there is no build.
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
class GenerationTiming:
    """How fast a build generates after a prompt.

    Attributes:
        context: Tokens of the prompt.
        first_token_ns: Median time of the run that computes the prompt.
        next_token_ns: Median time of the run for one further token after it.
        runs: Timed runs of each.
    """

    context: int
    first_token_ns: float
    next_token_ns: float
    runs: int

    def to_json(self) -> dict[str, float]:
        """An entry of ``generation`` of a benchmark record."""
        return {
            "context": self.context,
            "first_token_ns": self.first_token_ns,
            "next_token_ns": self.next_token_ns,
            "tokens_per_s": 1e9 / self.next_token_ns,
            "runs": self.runs,
        }
