"""Tree objects of a revision: stored ones, or else computed from its files."""

from collections.abc import Collection, Iterable

from registry.storage.git import object_oid, tree_entries, tree_objects
from registry.tables import Revision, Tree

# Databases bound the number of values in one query.
_AT_ONCE = 500


class StoredTrees:
    """Reads the tree objects of ``revision``.

    Attributes:
        computed: Id to content of all of them, once one was not stored.
    """

    def __init__(self, revision: Revision, *, of_bytes: bool = False) -> None:
        """``of_bytes``: the trees over the files' own bytes, without pointers to large files."""
        self._revision = revision
        self._column = "blob__git_oid" if of_bytes else "oid"
        self._root = b""
        self.computed: dict[str, bytes] = {}

    def load(self, oid: str) -> bytes:
        """The content of a tree object of the revision."""
        return self.load_all([oid])[oid]

    def load_all(self, oids: Collection[str]) -> dict[str, bytes]:
        """Id to content of these tree objects: see :meth:`load`."""
        contents: dict[str, bytes] = {}
        ordered = [] if self.computed else sorted(oids)
        for start in range(0, len(ordered), _AT_ONCE):
            rows = Tree.objects.filter(
                mlmodel=self._revision.mlmodel_id, oid__in=ordered[start : start + _AT_ONCE]
            )
            for oid, stored in rows.values_list("oid", "content"):
                content = bytes(stored)
                # A damaged one counts as absent.
                if object_oid("tree", content) == oid:
                    contents[oid] = content
        if len(contents) < len(ordered):
            files = self._revision.files.values_list("path", self._column)
            root, self.computed = tree_objects(files.iterator(chunk_size=2000))
            self._root = self.computed[root]
        # The root is that of the files even if its id is another one: fsck reports it.
        return {oid: contents.get(oid, self.computed.get(oid, self._root)) for oid in oids}


def folder_oids(revision: Revision, paths: Iterable[str]) -> dict[str, str]:
    """Path to tree id of those of ``paths`` that are folders of ``revision``; "" is the root.

    One query for each level of folders.
    """
    stored = StoredTrees(revision)
    oids = {"": revision.tree_oid}
    levels: dict[int, set[str]] = {}
    targets = set(paths)
    for path in targets:
        parts = path.split("/") if path else []
        for length in range(1, len(parts) + 1):
            levels.setdefault(length, set()).add("/".join(parts[:length]))
    for _, level in sorted(levels.items()):
        above = {path: path.rpartition("/")[0] for path in level}
        parents = {parent: oids[parent] for parent in above.values() if parent in oids}
        contents = stored.load_all(set(parents.values()))
        folders = {parent: tree_entries(contents[oid])[1] for parent, oid in parents.items()}
        for path, parent in above.items():
            oid = folders.get(parent, {}).get(path.rpartition("/")[2])
            if oid is not None:
                oids[path] = oid
    return {path: oids[path] for path in targets if path in oids}


def folder_entries(revision: Revision, path: str) -> tuple[list[str], dict[str, str]] | None:
    """Names of the files directly in the folder ``path`` ("" for the root), and name to tree id of
    its folders; ``None`` if there is no such folder."""
    oid = folder_oids(revision, [path]).get(path)
    if oid is None:
        return None
    files, folders = tree_entries(StoredTrees(revision).load(oid))
    return list(files), folders
