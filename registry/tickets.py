"""What workers are handed and hand back, instead of rows. Plain data: no ORM, no Django.

Every type turns into JSON by :func:`dataclasses.asdict`, so a ticket can travel to a device by
HTTP or in a bundle as well as within a process.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FileTicket:
    """A file to fetch: its path inside the revision or build, its digest and its size."""

    path: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """What inspection read out of one file of a network.

    Attributes:
        path: The file, inside its revision.
        graph_hash: SHA-256 over the structure, without names and weights.
        architecture_class: A value of :class:`registry.states.ArchitectureClass`.
        parameters: Number of weight elements.
        macs: Multiply-accumulates of one run with dynamic dimensions set to 1; ``None`` if open.
        signature: ``{"inputs": [{"name", "dtype", "shape"}], "outputs": [...]}``.
        operators: Operator type to count, subgraphs included; ``domain::Op`` outside ``ai.onnx``.
        embedding: Structure embedding, unit length, float.
        opsets: Operator-set domain to version.
        ir_version: ONNX IR version; 0 of other formats.
        producer: Producer name and version as written in the file.
        external_data: Paths of external data files, inside the revision.
        weight_bytes: Bytes of all weights.
        forms: ``{"format", "path"}`` of each file of the same network that some backend takes as it
            is: ``torch-export`` or ``tflite``.
        integer_bounds: Integer input to the number of rows of the table it indexes, where known.
        format: ``onnx``, or ``tflite`` where no ONNX file was published.
        weight_dtypes: Element type to the number of weight elements of it.
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
    """A claimed job, with all a worker needs to do it.

    Attributes:
        fence: To be named in every write for this job.
        lease_s: Seconds until the lease ends unless renewed.
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
    """What a worker learns when it renews its lease.

    Attributes:
        cancel: The job is no longer wanted: stop, and give it back by ``job_release``.
    """

    cancel: bool


@dataclass(frozen=True, slots=True)
class DeliveryTicket:
    """A message to a webhook.

    Attributes:
        uuid: Names the message; the same for all its attempts.
        attempt: Counted from 1; whoever ends the attempt names it.
        webhook: The webhook's key.
        secret: Sent along and used to sign; may be empty.
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
        number: Of the test set it belongs to.
        side: ``input`` or ``output``.
        index: Its place among those of its side.
        name: As the network calls it.
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
    """A published build, to be run again.

    Attributes:
        backend: That built it, and opens it.
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
    """Something DataCite is to be told of a DOI.

    Attributes:
        identifier: Name of the identifier that has, or will have, the DOI.
        body: The document to send: see :mod:`registry.fair.datacite.registration`.
        due_at: The claim: whoever ends it names it, as ISO 8601; empty where a job is the claim.
    """

    identifier: str
    doi: str
    body: dict[str, Any]
    due_at: str = ""
