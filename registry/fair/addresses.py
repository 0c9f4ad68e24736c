"""Public addresses in metadata records; the URL configurations of :mod:`hub` serve each."""

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from registry.fair.description import ResourceKind


@dataclass(frozen=True, slots=True)
class RepositoryAddress:
    """Addresses of one repository, ``namespace/name``; ``hub`` is without a final slash."""

    hub: str
    kind: ResourceKind
    repository: str

    @property
    def concept(self) -> str:
        """The page of the newest version."""
        prefix = "datasets/" if self.kind == "dataset" else ""
        return f"{self.hub}/{prefix}{self.repository}"

    def version(self, oid: str, view: str = "") -> str:
        """The page of a version, or its ``view``, such as ``/linkset``."""
        return f"{self.concept}{view}?{urlencode({'revision': oid})}"

    def commit(self, oid: str) -> str:
        """The page of the commit of a version."""
        return f"{self.concept}/commit/{oid}"

    def file(self, oid: str, path: str) -> str:
        """The bytes of a file of a version."""
        return f"{self.concept}/resolve/{oid}/{quote(path)}"

    def file_list(self, oid: str) -> str:
        """All files of a version as JSON, in pages that the header ``Link`` connects."""
        return f"{self.hub}/api/{self.kind}s/{self.repository}/tree/{oid}?recursive=true"

    def test(self, oid: str, path: str) -> str:
        """The bytes of a test tensor that the hub made for a version."""
        return f"{self.concept}/tests/{oid}/{quote(path)}"


def namespace_url(hub: str, name: str) -> str:
    """The page of a person or an organisation."""
    return f"{hub}/{name}"


def job_url(hub: str, uuid: object) -> str:
    """The page of a job."""
    return f"{hub}/jobs/{uuid}"


def build_url(hub: str, uuid: object) -> str:
    """The page of a build."""
    return f"{hub}/builds/{uuid}"


def build_file_url(hub: str, uuid: object, path: str) -> str:
    """The bytes of one file of a build."""
    return f"{hub}/api/v1/builds/{uuid}/files/{quote(path)}"


def record_url(hub: str, record_id: str) -> str:
    """The page of a benchmark record."""
    return f"{hub}/records/{record_id}"


def record_document_url(hub: str, record_id: str) -> str:
    """The whole benchmark record, ``hpcfair.bench/1``."""
    return f"{hub}/api/v1/records/{record_id}"


def dump_url(hub: str) -> str:
    """All public records in one file."""
    return f"{hub}/catalog/records.jsonl.gz"


def target_url(hub: str, slug: str) -> str:
    """The page of a target."""
    return f"{hub}/targets/{slug}"
