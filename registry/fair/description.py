"""What the hub says of one version of a model or data set: the source of every serialisation.

Absent is absent: ``None``, ``""`` or an empty tuple, and then no serialisation mentions it. Facts
that the hub computed (files, tensors, parameters, builds, activities) stand here as computed,
whatever the card says about them.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from registry.fair.activities import Activity, Benchmark, BuildDescription, Hardware, Scan
from registry.fair.parts import (
    Agent,
    DatasetUse,
    DerivationDescription,
    Emissions,
    Evaluation,
    FairScore,
    FileDescription,
    Funding,
    Hub,
    License,
    Network,
    Reference,
    Software,
    Withdrawal,
)

ResourceKind = Literal["model", "dataset"]
Status = Literal["draft", "public", "withdrawn"]
Access = Literal["open access", "restricted access", "metadata only access"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """One version of ``namespace/name``.

    Attributes:
        pid: Persistent identifier of this version, as an address on this hub.
        concept_pid: The same for all versions together.
        landing: Page of this version. The record's subject is ``pid``, never this page.
        concept_landing: Page of the newest version.
        doi: ``https://doi.org/...`` of this version, as registered by this hub.
        version: Name of a tag, else what the card says, else the beginning of ``oid``.
        oid: Commit id.
        tree_oid: Git's name for the files, computed of their own bytes: the commit's tree has
            pointers in place of large ones.
        versions: Identifiers of the versions, newest first and not more than the newest hundred;
            this one is among them.
        body: The card's text without its front matter, as Markdown.
        unknown: Keys of the card that the hub does not read, as given.
        activities: What is known to have been done, the oldest first; of searches and what they
            left the newest, and ``activities_omitted`` says how many older ones there are.
        repetitions: Measurements by others of what the hub had measured.
        tuned_on: Hardware that there are builds for.
        scan: ``None`` before an inspection, and of data sets.
        snippet: Python that loads and runs this very version.
        crate_url: All files with their metadata as one RO-Crate ZIP.
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
    doi: str | None = None
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
    software: tuple[Software, ...] = ()
    categories: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()

    files: tuple[FileDescription, ...] = ()
    network: Network | None = None
    tests: tuple[FileDescription, ...] = ()

    datasets: tuple[DatasetUse, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()
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
    def size_bytes(self) -> int:
        """Of all files together."""
        return sum(file.size_bytes for file in self.files)

    @property
    def swhid(self) -> str:
        """Software Heritage identifier of the files (ISO/IEC 18670), as a download has it."""
        return f"swh:1:dir:{self.tree_oid}"

    @property
    def swhid_revision(self) -> str:
        """Software Heritage identifier of the commit, as ``git clone`` gives it."""
        return f"swh:1:rev:{self.oid}"
