"""The description of one version of a model or data set: the source of every serialisation.

An absent value is ``None``, ``""`` or an empty tuple, and no serialisation mentions it. Facts that
the hub computed (files, tensors, parameters, builds, activities) override the card.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from registry.fair.activities import (
    Activity,
    Benchmark,
    BuildDescription,
    FairScore,
    Hardware,
    Scan,
    Withdrawal,
)
from registry.fair.parts import (
    Agent,
    DatasetUse,
    DerivationDescription,
    Emissions,
    FileDescription,
    Funding,
    Hub,
    License,
    NetworkDescription,
    QualityEvaluation,
    Reference,
)

ResourceKind = Literal["model", "dataset"]
Status = Literal["draft", "public", "withdrawn"]
Access = Literal["open access", "restricted access", "metadata only access"]

#: Upper bound on the files of a version that are packed into one archive.
MAX_CRATE_FILES = 10_000
#: Lower bound on the characters of a description; catalogues refuse shorter ones.
MIN_DESCRIPTION = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The description of one version of ``namespace/name``.

    Attributes:
        pid: Persistent identifier of this version, as an address of this hub.
        concept_pid: Persistent identifier of all versions together.
        landing: Page of this version. The subject of the record is ``pid``, not this page.
        concept_landing: Page of the newest version.
        doi: ``https://doi.org/...`` of this version, if this hub registered one.
        alternates: Persistent identifiers, as addresses, of the same files at the hub that they
            were imported from.
        version: Name of a tag, else the version in the card, else the start of ``oid``.
        tree_oid: Git tree id over the files' own bytes; the commit's tree has pointers in place
            of large files.
        versions: Identifiers of at most the newest hundred versions, newest first; this one is
            among them.
        body: The card's text without its front matter, as Markdown.
        model_index: Entries of the card's ``model-index``, as written.
        unknown: Keys of the card that the hub does not read, with their values.
        activities: Known activities, oldest first; of searches and their results only the newest.
        repetitions: Measurements by third parties that repeat one of the hub's.
        tuned_on: Hardware that builds exist for.
        scan: ``None`` before the inspection, and for data sets.
        snippet: Python that loads and runs this version.
        is_at_name: Whether the page of the repository shows this record: the repository was
            deleted, and nothing took its name. Stored records do not say so.
        crate_url: Address of all files with their metadata as an RO-Crate ZIP; see ``has_crate``.
        files: All of them, or of many the first and those with a known role.
        files_omitted: Number of files that ``files`` does not list.
        bytes_omitted: Size of these.
        file_list_url: Address of a list of all files, as JSON in pages.
    """

    hub: Hub
    kind: ResourceKind
    repository: str
    name: str
    owner: Agent
    pid: str
    concept_pid: str
    landing: str
    concept_landing: str
    linkset_url: str
    crate_url: str
    title: str
    version: str
    oid: str
    tree_oid: str
    created: datetime
    published: datetime
    modified: datetime
    access: Access
    status: Status = "public"
    withdrawal: Withdrawal | None = None
    is_at_name: bool = False
    doi: str | None = None
    alternates: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()

    description: str | None = None
    body: str = ""
    creators: tuple[Agent, ...] = ()
    contributors: tuple[Agent, ...] = ()
    contact: Agent | None = None
    funding: tuple[Funding, ...] = ()
    license: License | None = None
    use_restrictions: str | None = None
    keywords: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    task: str | None = None
    library: str | None = None
    categories: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()

    files: tuple[FileDescription, ...] = ()
    files_omitted: int = 0
    bytes_omitted: int = 0
    file_list_url: str = ""
    network: NetworkDescription | None = None
    tests: tuple[FileDescription, ...] = ()

    datasets: tuple[DatasetUse, ...] = ()
    model_index: tuple[dict[str, Any], ...] = ()
    evaluations: tuple[QualityEvaluation, ...] = ()
    intended_use: str | None = None
    out_of_scope: str | None = None
    limitations: str | None = None
    ethics: str | None = None
    usage: str | None = None
    snippet: str | None = None
    code: Reference | None = None
    papers: tuple[Reference, ...] = ()
    derived_from: tuple[DerivationDescription, ...] = ()
    activities: tuple[Activity, ...] = ()
    activities_omitted: int = 0
    builds: tuple[BuildDescription, ...] = ()
    repetitions: tuple[Benchmark, ...] = ()
    tuned_on: tuple[Hardware, ...] = ()
    scan: Scan | None = None
    emissions: Emissions | None = None
    fair: FairScore | None = None
    unknown: dict[str, object] = field(default_factory=dict)

    @property
    def is_withdrawn(self) -> bool:
        """Whether only this record is left: see :mod:`registry.fair.withdrawal`."""
        return self.status == "withdrawn"

    @property
    def is_current(self) -> bool:
        """Whether the page of the repository shows this version: it is the newest one."""
        return not self.is_withdrawn and self.versions[:1] == (self.pid,)

    @property
    def pages(self) -> tuple[str, ...]:
        """Addresses of the landing page: for the newest version that of the repository, then that
        of the version, for consumers that take the last of several links."""
        is_shown_twice = self.is_current or self.is_at_name
        return (self.concept_landing, self.landing) if is_shown_twice else (self.landing,)

    @property
    def size_bytes(self) -> int:
        """Size of all files."""
        return sum(file.size_bytes for file in self.files) + self.bytes_omitted

    @property
    def file_count(self) -> int:
        """Number of all files, including those that ``files`` does not list."""
        return len(self.files) + self.files_omitted

    @property
    def has_crate(self) -> bool:
        """Whether the files are offered as one archive: they are stored, and not too many."""
        return not self.is_withdrawn and 0 < self.file_count <= MAX_CRATE_FILES

    @property
    def omission(self) -> str | None:
        """A sentence that says how many files are listed and where all are; ``None`` if all are."""
        if not self.files_omitted:
            return None
        place = "" if self.is_withdrawn else f" All of them: {self.file_list_url}"
        return f"This record lists {len(self.files)} of {self.file_count} files.{place}"

    @property
    def swhid(self) -> str:
        """Software Heritage identifier (ISO/IEC 18670) of the downloaded files."""
        return f"swh:1:dir:{self.tree_oid}"

    @property
    def swhid_revision(self) -> str:
        """Software Heritage identifier of the commit, as ``git clone`` checks it out."""
        return f"swh:1:rev:{self.oid}"


def missing_fields(description: Description) -> tuple[str, ...]:
    """Absent fields that the served SHACL shape requires of authors; the hub provides all other
    fields of :mod:`registry.fair.linked.shape` itself."""
    is_present = {
        "description": len(description.description or "") >= MIN_DESCRIPTION,
        "creators": bool(description.creators),
        "license": description.license is not None and bool(description.license.uris),
        "task": description.kind != "model" or bool(description.task),
    }
    return tuple(name for name, present in is_present.items() if not present)
