"""Plain data that devices receive instead of database rows. :func:`dataclasses.asdict` turns each
type into JSON, and its ``from_json`` reads it again. That ignores unknown members, because a hub
may be newer than a device. Standard library only."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from hpcfair.typingnames import Self

# At most six digits, as the hub accepts them.
_NUMBER = "0|[1-9][0-9]{0,5}"
_TEST_PATH = re.compile(
    rf"test_data_set_(?P<number>{_NUMBER})/(?P<side>input|output)_(?P<index>{_NUMBER})\.pb"
)


@dataclass(frozen=True, slots=True)
class FileTicket:
    """A file to fetch: path inside its revision or build, digest and size."""

    path: str
    sha256: str
    size_bytes: int

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**_members(cls, data))


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """Facts of one network file, computed by inspection.

    Attributes:
        graph_hash: SHA-256 over the structure, without names and weights.
        architecture_class: A value of :class:`registry.states.ArchitectureClass`.
        parameters: Number of weight elements.
        macs: Multiply-accumulates of one run with dynamic dimensions set to 1; ``None`` if unknown.
        signature: ``{"inputs": [{"name", "dtype", "shape"}], "outputs": [...]}``.
        operators: Operator type to count, subgraphs included; ``domain::Op`` outside ``ai.onnx``.
        embedding: Structure embedding, a vector of unit length.
        opsets: Operator-set domain to version.
        ir_version: ONNX IR version; 0 for other formats.
        producer: Producer name and version as written in the file.
        external_data: Paths of external data files inside the revision.
        forms: ``{"format", "path"}`` of each file of the same network that some backend takes as it
            is: ``torch-export`` or ``tflite``.
        integer_bounds: Name of an integer input to the number of rows of the table that it indexes.
        convolutions: The distinct convolutions with stride 1, one group and constant weights: their
            channels (``inputs``, ``outputs``), and sizes of the other axes (lists: ``kernel``,
            ``dilations``, ``result``).
        format: ``onnx``, or ``tflite`` if no ONNX file was published.
        weight_dtypes: Element type to number of weight elements.
    """

    path: str
    graph_hash: str
    architecture_class: str
    parameters: int
    macs: int | None
    signature: dict[str, Any]
    operators: dict[str, int]
    embedding: list[float]
    opsets: dict[str, int]
    ir_version: int
    producer: str
    external_data: list[str]
    weight_bytes: int
    forms: list[dict[str, str]] = field(default_factory=list)
    integer_bounds: dict[str, int] = field(default_factory=dict)
    weight_dtypes: dict[str, int] = field(default_factory=dict)
    convolutions: list[dict[str, Any]] = field(default_factory=list)
    format: str = "onnx"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**_members(cls, data))


@dataclass(frozen=True, slots=True)
class JobTicket:
    """A claimed job with the data that its worker needs.

    Every write for the job must name ``fence``; the lease expires after ``lease_s`` seconds unless
    it is renewed; ``files`` are all files of the revision; ``graph`` has the facts of the primary
    network, ``None`` before inspection; ``yields`` counts earlier claims given up for other jobs;
    ``settings`` are the hub's settings for all jobs: seconds of a search (``tune_budget_s``), of
    schedules (``schedule_s``), of a study of passes (``passes_s``) and of a measurement of roofs
    (``roofs_s``); ``banned`` are candidates (``config_sha256``) that took devices of the target
    down.
    """

    job_uuid: str
    kind: str
    attempt: int
    fence: int
    lease_s: float
    mlmodel: str
    revision_oid: str
    target: str
    device: str
    parameters: dict[str, Any]
    files: tuple[FileTicket, ...]
    graph: GraphFacts | None
    card: dict[str, Any] = field(default_factory=dict)
    yields: int = 0
    settings: dict[str, float] = field(default_factory=dict)
    banned: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Raises KeyError and TypeError for a malformed document."""
        members = _members(cls, data)
        graph = members["graph"]
        members["files"] = tuple(FileTicket.from_json(file) for file in members["files"])
        members["banned"] = tuple(members.get("banned", ()))
        members["graph"] = None if graph is None else GraphFacts.from_json(graph)
        return cls(**members)


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """The answer to a heartbeat; on ``cancel`` the worker stops and calls ``job_release``."""

    cancel: bool


@dataclass(frozen=True, slots=True)
class TensorTicket:
    """A test tensor of a network: the one at position ``index`` of its side, ``input`` or
    ``output``, of test set ``number``. ``name`` is that of the network's input or output;
    ``is_made`` is true if the hub made the tensor, false if it was published; ``file`` is the
    serialised ``TensorProto``, whose path is unique among the tensors of a network."""

    number: int
    side: str
    index: int
    name: str
    is_made: bool
    file: FileTicket

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        members = _members(cls, data)
        return cls(**{**members, "file": FileTicket.from_json(members["file"])})


@dataclass(frozen=True, slots=True)
class BuildTicket:
    """A published build to be run again; ``backend`` built it and opens it."""

    uuid: str
    backend: str
    runtime: str
    runtime_options: dict[str, Any]
    entry_point: str
    tolerance: str
    is_baseline: bool
    files: tuple[FileTicket, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        members = _members(cls, data)
        files = tuple(FileTicket.from_json(file) for file in members["files"])
        return cls(**{**members, "files": files})


@dataclass(frozen=True, slots=True)
class RunTicket:
    """A run with a person's inputs.

    ``inputs`` is a ``.npz`` of arrays by the name of an input; ``build`` is ``None`` if the
    published network runs under the defaults of its runtime; ``limit_s`` are the seconds that the
    run may take on the device.
    """

    inputs: FileTicket
    build: BuildTicket | None
    limit_s: float

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        members = _members(cls, data)
        build = members["build"]
        members["inputs"] = FileTicket.from_json(members["inputs"])
        members["build"] = None if build is None else BuildTicket.from_json(build)
        return cls(**members)


def parse_test_path(path: str) -> tuple[int, str, int] | None:
    """Number of the set, side and index of a test tensor, of its path beside the network; ``None``
    for other files. The ONNX format names such files ``test_data_set_0/input_0.pb``."""
    match = _TEST_PATH.fullmatch(path)
    return (int(match["number"]), match["side"], int(match["index"])) if match else None


def _members(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """The members of ``data`` that are fields of a dataclass."""
    names = {each.name for each in fields(kind)}
    return {name: value for name, value in data.items() if name in names}
