"""The parts of a description: people, files, tensors, activities, builds."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

RelationName = Literal[
    "derived",
    "finetune",
    "quantized",
    "adapter",
    "merge",
    "exported",
    "compiled",
    "distilled",
    "fork",
    "copy",
]
DatasetRole = Literal["trained", "validated", "tested", "mentioned"]
Assessor = Literal["author", "hub", "third party"]
FileRole = Literal[
    "model", "weights", "card", "config", "samples", "tests", "licence", "environment", "other"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Organization:
    """Attributes: ``ror`` is the full https://ror.org/ address."""

    name: str
    ror: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A person or an organisation that made something.

    Attributes:
        orcid: The full https://orcid.org/ address; of persons only.
        ror: The full https://ror.org/ address; of organisations only.
        url: A page about them, such as their namespace on this hub.
        roles: CRediT terms as written there, such as ``Software`` or ``Data curation``.
    """

    name: str
    kind: Literal["person", "organization"] = "person"
    orcid: str | None = None
    ror: str | None = None
    url: str | None = None
    email: str | None = None
    affiliations: tuple[Organization, ...] = ()
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Funding:
    """A grant: its number, what it is called, who gave it."""

    funder: Organization
    award: str | None = None
    title: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class License:
    """What one may do with it.

    Attributes:
        expression: SPDX, such as ``Apache-2.0`` or ``MIT OR Apache-2.0``.
        uris: An address for each simple licence of the expression, in its order: those of SPDX
            are ``https://spdx.org/licenses/<id>``, others lead to their text.
        name: As the card calls a licence that SPDX does not list.
    """

    expression: str
    uris: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDescription:
    """One file of the version, or of a build.

    Attributes:
        url: Of the bytes, fixed to the version: what lies there never changes.
        media_type: As the hub serves it.
    """

    path: str
    url: str
    size_bytes: int
    sha256: str
    media_type: str
    role: FileRole = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorDescription:
    """An input or an output, in the words of the STAC extension for machine learning models.

    Attributes:
        dtype: NumPy's word (``float32``).
        shape: A dimension is a number or the name of one that is open.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """What inspection computed from the model file.

    Attributes:
        format: ``onnx``, ``tflite``...
        opsets: Operator set domain to version; ``ai.onnx`` is spelled out.
        architecture_class: One of :class:`registry.states.ArchitectureClass`.
        graph_hash: SHA-256 over the computation without names and weights.
        weight_bytes: Memory the weights take.
        macs: Multiply-accumulates of one run at the shape in ``macs_shape``.
        precision: The dtype that most weights have.
    """

    path: str
    format: str
    architecture_class: str
    graph_hash: str
    parameters: int
    inputs: tuple[TensorDescription, ...]
    outputs: tuple[TensorDescription, ...]
    opsets: dict[str, int] = field(default_factory=dict)
    operators: dict[str, int] = field(default_factory=dict)
    macs: int | None = None
    weight_bytes: int | None = None
    precision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """A program with its version. ``purl`` is a package URL, ``pkg:pypi/onnxruntime@1.31.1``."""

    name: str
    version: str | None = None
    purl: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetUse:
    """A data set and what it served for.

    Attributes:
        name: As the card writes it.
        url: Its landing page or identifier, where one is known.
        pid: Its persistent identifier, where it is of this hub or was given as one.
    """

    name: str
    role: DatasetRole
    url: str | None = None
    pid: str | None = None
    split: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One figure of quality: of the card's ``model-index``, or measured by the hub.

    Attributes:
        value: A number, or a text where the card gives one.
        by: Who measured it; the figures of others are those that a card names a source of.
        url: Where it is shown: the source named in the card, or the hub's record.
    """

    task: str
    dataset: str
    metric: str
    value: float | str
    by: Assessor
    dataset_config: str | None = None
    split: str | None = None
    low: float | None = None
    high: float | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A publication or a code repository: its address, preferably ``https://doi.org/...``."""

    url: str
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivationDescription:
    """Something this version was made from, or that was made from it.

    Attributes:
        source: ``namespace/name``, or the name of what lies elsewhere.
        url: Landing page or identifier.
        pid: Persistent identifier, where the source has one.
        oid: The source's commit, where known.
    """

    relation: RelationName
    source: str
    url: str | None = None
    pid: str | None = None
    oid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """Why there is only a record left."""

    at: datetime
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Emissions:
    """Carbon dioxide of training: ``co2_eq_emissions`` of the card, in kilograms."""

    co2e_kg: float
    source: str | None = None
    training_type: str | None = None
    location: str | None = None
    hardware: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FairScore:
    """The last assessment from outside: points earned of those there are."""

    points: float
    of: float
    at: datetime
    tool: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """Where the record is kept.

    Attributes:
        url: Without a slash at the end.
        policy_url: The page that says how long records are kept and what becomes of identifiers.
        publisher: Who runs this hub.
    """

    name: str
    url: str
    policy_url: str
    shape_url: str
    publisher: Organization
