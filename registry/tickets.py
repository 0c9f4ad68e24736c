"""Plain data that workers get and return instead of database rows; no ORM, no Django.

Each type becomes JSON by :func:`dataclasses.asdict`, so that a ticket can be sent to a device.
"""

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
        path: Path of the file inside its revision.
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
        weight_bytes: Bytes of all weights.
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

    Attributes:
        fence: Must be named in every write for this job.
        lease_s: Seconds until the lease expires unless it is renewed.
        files: All files of the revision.
        graph: Facts of the primary network; ``None`` before inspection.
        card: The revision's parsed card.
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


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """The answer to a heartbeat.

    Attributes:
        cancel: Whether to stop and release the job by ``job_release``, because it was cancelled.
    """

    cancel: bool


@dataclass(frozen=True, slots=True)
class DeliveryTicket:
    """A claimed delivery to a webhook.

    Attributes:
        uuid: Identifies the delivery in all its attempts.
        attempt: Number of the attempt, from 1; named at its end.
        webhook: Key of the webhook.
        secret: Sent as a header and used for the signature; may be empty.
    """

    uuid: str
    attempt: int
    webhook: int
    url: str
    secret: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TensorTicket:
    """A test tensor of a network.

    Attributes:
        number: Number of its test set.
        side: ``input`` or ``output``.
        index: Position among the tensors of its side.
        name: Name of the network's input or output.
        is_made: Whether the hub made it; else it was published with the model.
        file: The serialised ``TensorProto``; its path is unique among the tensors of a network.
    """

    number: int
    side: str
    index: int
    name: str
    is_made: bool
    file: FileTicket


@dataclass(frozen=True, slots=True)
class BuildTicket:
    """A published build to be run again.

    Attributes:
        backend: Name of the backend that built it and opens it.
    """

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

    Attributes:
        identifier: Name of the identifier that has, or will have, the DOI.
        body: Document of the request: see :mod:`registry.fair.datacite.registration`.
        due_at: Identifies the claim at its end, as ISO 8601; empty if a job holds the claim.
    """

    identifier: str
    doi: str
    body: dict[str, Any]
    due_at: str = ""
