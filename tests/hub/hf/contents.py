"""What a repository holds, as the database and the store have it."""

from registry.selectors.repository.revision import files_of, revision_get
from registry.selectors.storage.blob import blob_open
from registry.tables import File, MLModel


def contents(mlmodel: MLModel, rev: str | None = None) -> dict[str, bytes]:
    """Path to content of all files but the ``.gitattributes`` every repository begins with."""
    files = files_of(revision_get(mlmodel, rev))
    return {file.path: _content(file) for file in files if file.path != ".gitattributes"}


def large_paths(mlmodel: MLModel, rev: str | None = None) -> set[str]:
    """The paths in large file storage."""
    return {file.path for file in files_of(revision_get(mlmodel, rev)) if file.is_lfs}


def _content(file: File) -> bytes:
    with blob_open(file.blob) as stream:
        return stream.read()
