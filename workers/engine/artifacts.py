"""The files of a build, by their digests."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from workers.engine.types import BuildResult, sha256_of


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """A file of a build; ``path`` is relative to the build's folder, with forward slashes."""

    path: str
    sha256: str
    size_bytes: int


def artifact_files(build: BuildResult) -> list[ArtifactFile]:
    """Every file of a build, sorted by path; raises ValueError if they do not exist any more."""
    root = build.directory
    if root is None or not root.is_dir():
        raise ValueError("the files of this build are gone")
    paths = [path for path in root.rglob("*") if path.is_file()]
    files = [
        ArtifactFile(path.relative_to(root).as_posix(), _digest(path), path.stat().st_size)
        for path in paths
    ]
    return sorted(files, key=lambda file: file.path)


def artifact_sha256(files: Sequence[ArtifactFile]) -> str:
    """SHA-256 over the canonical JSON of the paths and digests of all files."""
    return sha256_of([{"path": file.path, "sha256": file.sha256} for file in files])


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
