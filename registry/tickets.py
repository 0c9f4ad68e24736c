"""Plain data that workers get and return instead of database rows; no ORM, no Django. Each type
becomes JSON by :func:`dataclasses.asdict`, so that a ticket can be sent to a device."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FileTicket:
    """A file to fetch: path inside its revision or build, digest and size."""

    path: str
    sha256: str
    size_bytes: int


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
    format: str = "onnx"


@dataclass(frozen=True, slots=True)
class JobTicket:
    """A claimed job with the data that its worker needs.

    Every write for the job must name ``fence``; the lease expires after ``lease_s`` seconds unless
    it is renewed; ``files`` are all files of the revision; ``graph`` has the facts of the primary
    network, ``None`` before inspection; ``yields`` counts earlier claims given up for other jobs.
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


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """The answer to a heartbeat; on ``cancel`` the worker stops and calls ``job_release``."""

    cancel: bool


@dataclass(frozen=True, slots=True)
class DeliveryTicket:
    """A claimed delivery to a webhook.

    ``uuid`` identifies the delivery in all its attempts; ``attempt`` counts from 1 and is named at
    its end; ``webhook`` is a key; ``secret``, which may be empty, is sent as a header and used for
    the signature.
    """

    uuid: str
    attempt: int
    webhook: int
    url: str
    secret: str
    payload: dict[str, Any]


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


@dataclass(frozen=True, slots=True)
class DoiTicket:
    """A request about a DOI to be sent to DataCite.

    ``identifier`` is the name of the identifier that has, or will have, the DOI; ``body`` is a
    document of :mod:`registry.fair.datacite.registration`; ``due_at`` (ISO 8601) identifies the
    claim at its end, and is empty if a job holds the claim.
    """

    identifier: str
    doi: str
    body: dict[str, Any]
    due_at: str = ""
