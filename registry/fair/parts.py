"""The parts of a description: people, licences, files, networks, data sets and evaluations."""

from dataclasses import dataclass, field
from typing import Literal

from registry.fair.datatable import TableDescription

#: Licence of the metadata records, CC0 1.0; that of the files is their owner's.
METADATA_LICENSE = "https://creativecommons.org/publicdomain/zero/1.0/"

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
    "import",
]
DatasetRole = Literal["trained", "validated", "tested", "mentioned"]
Assessor = Literal["author", "hub", "third party"]
FileRole = Literal[
    "model", "weights", "card", "config", "samples", "tests", "licence", "environment", "other"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Organization:
    """An organisation; ``ror`` is the full https://ror.org/ address."""

    name: str
    ror: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A person or an organisation.

    ``orcid`` (of persons) and ``ror`` (of organisations) are full addresses; ``url`` is a page,
    such as a namespace on this hub; ``roles`` are CRediT terms, such as ``Data curation``.
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
    """A grant: ``award`` is its number."""

    funder: Organization
    award: str | None = None
    title: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class License:
    """A licence.

    Attributes:
        expression: SPDX expression, such as ``Apache-2.0`` or ``MIT OR Apache-2.0``.
        uris: An address for each simple licence of the expression, in its order:
            ``https://spdx.org/licenses/<id>``, or the address of the text.
        name: Name in the card of a licence that SPDX does not list.
    """

    expression: str
    uris: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDescription:
    """A file of the version or of a build; the bytes at ``url`` never change.

    ``is_available`` is false if they were deleted: ``url`` is then a name only. ``table`` has the
    columns that were read from a file of a data set.
    """

    path: str
    url: str
    size_bytes: int
    sha256: str
    media_type: str
    role: FileRole = "other"
    is_available: bool = True
    table: TableDescription | None = None

    @property
    def content_url(self) -> str | None:
        """Address of the bytes; ``None`` if they were deleted."""
        return self.url if self.is_available else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorDescription:
    """An input or output tensor, in terms of the STAC extension for machine learning models.

    ``dtype`` is a NumPy type name, such as ``float32``; ``shape`` has numbers, or names of open
    dimensions.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkDescription:
    """Facts that inspection computed from the model file.

    Attributes:
        opsets: Operator set domain to version; the default domain is ``ai.onnx``.
        operators: Operator to number of nodes.
        architecture_class: One of :class:`registry.states.ArchitectureClass`.
        graph_hash: SHA-256 over the computation without names and weights.
        weight_bytes: Size of the weights in memory.
        macs: Multiply-accumulate operations of one run.
        precision: The dtype of most weights.
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
    """A data set and its role. ``url`` is its landing page or identifier, if known; ``pid`` its
    persistent identifier, if it is of this hub or the card gives one."""

    name: str
    role: DatasetRole
    url: str | None = None
    pid: str | None = None
    split: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityEvaluation:
    """An evaluation result: from the card's ``model-index``, or measured by the hub.

    Those of the card are by its author, whatever source they name; ``url`` is that source, or the
    hub's record.
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
    """A publication or a code repository; the address is preferably a DOI."""

    url: str
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivationDescription:
    """A source of this version: ``namespace/name``, or the name of a source outside this hub.

    ``url`` is a landing page or identifier; ``pid`` and ``oid`` (commit id) are those of the
    source, if known.
    """

    relation: RelationName
    source: str
    url: str | None = None
    pid: str | None = None
    oid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Emissions:
    """Carbon dioxide equivalent of training: ``co2_eq_emissions`` of the card, in kilograms."""

    co2e_kg: float
    source: str | None = None
    training_type: str | None = None
    location: str | None = None
    hardware: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """The hub that holds the record.

    ``url`` has no final slash; ``policy_url`` is the persistence policy of records and identifiers,
    ``shape_url`` the SHACL shape of complete records, and ``publisher`` the operator of the hub.
    """

    name: str
    url: str
    policy_url: str
    shape_url: str
    publisher: Organization

    @property
    def core_shape_url(self) -> str:
        """The SHACL shape of all records."""
        return f"{self.url}/shapes/core"
