"""The files of a revision about to be made, as changes to those of a stored one."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from registry.selectors.repository.contents import CONFIG_PATHS, parameters_of, weights_among
from registry.selectors.repository.storedtree import StoredTrees
from registry.selectors.storage.blob import blob_open
from registry.storage.foldertree import FolderTree
from registry.storage.git import blob_oid, lfs_pointer
from registry.tables import Blob, File, Revision
from registry.validation.card import Card, check_size, parse

README = "README.md"
# Databases bound the number of values in one query.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """A file's blob, and its git object id in the tree."""

    blob: Blob
    oid: str
    is_lfs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All files of a revision.

    Attributes:
        base: Its files stay, except those that are removed or put; ``None`` for none.
        put: Path to entry of the files that are added or changed.
        removed: Paths of files of ``base`` that are left out.
        keeps_changes: Whether files that stay keep the revision that last changed them.
        tree_oid: Id of the git tree.
        directory_oid: Id of the git tree over the files' own bytes, without pointers.
        trees: Id to content of tree objects that may not be stored yet.
        file_count: Number of all files.
        size_bytes: Size of all files.
        card: The parsed README.md, empty without one.
        configs: Path to blob of the configuration files.
        parameters: Number of parameters in the safetensors files; ``None`` if unknown.
    """

    base: Revision | None
    put: Mapping[str, SnapshotEntry]
    removed: Collection[str]
    keeps_changes: bool
    tree_oid: str
    directory_oid: str
    trees: Mapping[str, bytes]
    file_count: int
    size_bytes: int
    card: Card
    configs: Mapping[str, Blob]
    parameters: int | None

    @property
    def new_blobs(self) -> list[Blob]:
        """Blobs of the files that are added or changed."""
        return [entry.blob for entry in self.put.values()]


class SnapshotBuilder:
    """Changes the files of a revision step by step.

    Reads the folders on the way to the changed paths, and the rows of replaced or removed files:
    the costs do not grow with the number of other files.
    """

    def __init__(self, base: Revision | None, *, keeps_changes: bool = True) -> None:
        self._base = base
        self._keeps_changes = keeps_changes
        self._stored = StoredTrees(base) if base else None
        self.tree = self._folders(self._stored, base.tree_oid if base else "")
        self._put: dict[str, SnapshotEntry] = {}
        # Paths of the base that are removed, or replaced by others.
        self._gone: set[str] = set()

    def remove(self, path: str) -> None:
        """Remove the file at ``path``."""
        self._gone.add(path)
        self.tree.remove(path)

    def put(self, path: str, entry: SnapshotEntry, *, before: str | None) -> None:
        """Put a file; ``before`` is the id of the file at ``path`` in the base.

        Putting identical content changes nothing.
        """
        self.tree.put(path, entry.oid)
        if before == entry.oid:
            self._gone.discard(path)
            return
        self._put[path] = entry
        if before is not None:
            self._gone.add(path)

    def blobs(self, paths: Collection[str]) -> dict[str, Blob]:
        """Path to blob of those of ``paths`` that are files now."""
        blobs = {path: self._put[path].blob for path in paths if path in self._put}
        others = [path for path in paths if path not in blobs and path not in self._gone]
        return blobs | {file.path: file.blob for file in self._files(others)}

    def finish(self) -> Snapshot:
        """The snapshot; reads README.md. Raises ``Invalid``: ``invalid_card``."""
        tree_oid, trees = self.tree.write()
        directory_oid, more = self._directory(tree_oid)
        base = self._base
        gone_bytes = sum(file.blob.size_bytes for file in self._files(sorted(self._gone)))
        put_bytes = sum(entry.blob.size_bytes for entry in self._put.values())
        # Read here, which most callers do outside their transaction.
        weights = self.blobs(weights_among(self.tree.root_files))
        counts = parameters_of(weights)
        return Snapshot(
            base=base,
            put=self._put,
            removed=self._gone - self._put.keys(),
            keeps_changes=self._keeps_changes,
            tree_oid=tree_oid,
            directory_oid=directory_oid,
            trees=(self._stored.computed if self._stored else {}) | trees | more,
            file_count=(base.file_count if base else 0) - len(self._gone) + len(self._put),
            size_bytes=(base.size_bytes if base else 0) - gone_bytes + put_bytes,
            card=self._card(),
            configs=self.blobs(CONFIG_PATHS),
            parameters=sum(counts.values()) if counts else None,
        )

    def _card(self) -> Card:
        readme = self.blobs([README]).get(README)
        if readme is None:
            return Card()
        check_size(readme.size_bytes)
        with blob_open(readme) as stream:
            return parse(stream.read())

    def _directory(self, tree_oid: str) -> tuple[str, dict[str, bytes]]:
        """The tree over the files' own bytes, and its objects if it is another one."""
        base = self._base
        has_pointers = base is not None and base.directory_oid != base.tree_oid
        if not has_pointers and not any(entry.is_lfs for entry in self._put.values()):
            return tree_oid, {}
        stored = StoredTrees(base, of_bytes=True) if base else None
        tree = self._folders(stored, base.directory_oid if base else "")
        for path in self._gone:
            tree.remove(path)
        for path, entry in self._put.items():
            tree.put(path, entry.blob.git_oid)
        oid, contents = tree.write()
        return oid, (stored.computed if stored else {}) | contents

    @staticmethod
    def _folders(stored: StoredTrees | None, oid: str) -> FolderTree:
        return FolderTree(oid, stored.load) if stored else FolderTree("", lambda _: b"")

    def _files(self, paths: Collection[str]) -> Iterator[File]:
        """The files of the base at ``paths``, with their blobs."""
        if self._base is None:
            return
        ordered = list(paths)
        for start in range(0, len(ordered), _AT_ONCE):
            rows = self._base.files.filter(path__in=ordered[start : start + _AT_ONCE])
            yield from rows.select_related("blob")


def entry_of(blob: Blob, *, is_lfs: bool) -> SnapshotEntry:
    """An entry for ``blob`` in a new revision; a large file is listed under its pointer's id."""
    if not is_lfs:
        return SnapshotEntry(blob, blob.git_oid, is_lfs=False)
    return SnapshotEntry(blob, blob_oid(lfs_pointer(blob.sha256, blob.size_bytes)), is_lfs=True)


def snapshot_of(revision: Revision, *, keeps_changes: bool = True) -> Snapshot:
    """The snapshot of a stored revision. Raises ``Invalid``: ``invalid_card``."""
    return SnapshotBuilder(revision, keeps_changes=keeps_changes).finish()
