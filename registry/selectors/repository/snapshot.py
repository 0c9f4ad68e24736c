"""All files of a revision, stored or about to be, as one value."""

from collections.abc import Mapping
from dataclasses import dataclass

from registry.selectors.repository.contents import parameters_of
from registry.selectors.repository.revision import files_of
from registry.selectors.storage.blob import blob_open
from registry.storage.git import blob_oid, lfs_pointer, tree_oid
from registry.tables import Blob, Revision
from registry.validation.card import Card, check_size, parse

README = "README.md"


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """A file's blob, its git object id in the tree, and the key of the revision that put it there.

    ``changed_in`` is ``None`` for the revision being made.
    """

    blob: Blob
    oid: str
    is_lfs: bool
    changed_in: int | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All files of a revision.

    Attributes:
        entries: Path to entry.
        tree_oid: Id of their git tree.
        directory_oid: Id of the git tree over their own bytes, without pointers.
        card: The parsed README.md, empty without one.
        parameters: Number of parameters in the safetensors files; ``None`` if unknown.
    """

    entries: Mapping[str, SnapshotEntry]
    tree_oid: str
    directory_oid: str
    card: Card
    parameters: int | None

    @property
    def new_blobs(self) -> list[Blob]:
        """Blobs of the files that the revision being made adds or changes."""
        return [entry.blob for entry in self.entries.values() if entry.changed_in is None]

    @property
    def size_bytes(self) -> int:
        """Size of all files."""
        return sum(entry.blob.size_bytes for entry in self.entries.values())


def entry_of(blob: Blob, *, is_lfs: bool) -> SnapshotEntry:
    """An entry for ``blob`` in a new revision; a large file is listed under its pointer's id."""
    if not is_lfs:
        return SnapshotEntry(blob, blob.git_oid, is_lfs=False)
    return SnapshotEntry(blob, blob_oid(lfs_pointer(blob.sha256, blob.size_bytes)), is_lfs=True)


def entries_of(revision: Revision) -> dict[str, SnapshotEntry]:
    """Path to entry for all files of ``revision``."""
    return {
        file.path: SnapshotEntry(file.blob, file.oid, file.is_lfs, file.changed_in_id)
        for file in files_of(revision)
    }


def snapshot_from(entries: Mapping[str, SnapshotEntry]) -> Snapshot:
    """The snapshot with these entries; reads README.md. Raises ``Invalid``: ``invalid_card``."""
    card = Card()
    if (readme := entries.get(README)) is not None:
        check_size(readme.blob.size_bytes)
        with blob_open(readme.blob) as stream:
            card = parse(stream.read())
    # Read here, which most callers do outside their transaction.
    counts = parameters_of({path: entry.blob for path, entry in entries.items()})
    tree = directory = tree_oid({path: entry.oid for path, entry in entries.items()})
    if any(entry.is_lfs for entry in entries.values()):
        directory = tree_oid({path: entry.blob.git_oid for path, entry in entries.items()})
    return Snapshot(entries, tree, directory, card, sum(counts.values()) if counts else None)


def snapshot_of(revision: Revision) -> Snapshot:
    """The snapshot of a stored revision. Raises ``Invalid``: ``invalid_card``."""
    return snapshot_from(entries_of(revision))
