"""A git tree that grows from commit to commit and says what each step changed."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from registry.storage.git import object_oid, tree_content


@dataclass
class Tree:
    """A folder of files and folders.

    Attributes:
        files: Name to blob id.
        folders: Name to folder.
        oid: Its id; "" from a change on until :meth:`changed` has been read to its end.
    """

    files: dict[str, str] = field(default_factory=dict)
    folders: dict[str, "Tree"] = field(default_factory=dict)
    oid: str = ""

    def put(self, path: str, oid: str) -> None:
        """Let ``path`` be the blob of that id."""
        folder = self
        *parts, name = path.split("/")
        for part in parts:
            folder.oid = ""
            folder = folder.folders.setdefault(part, Tree())
        folder.oid = ""
        folder.files[name] = oid

    def changed(self) -> Iterator[tuple[str, bytes]]:
        """Id and content of each tree object that changed since last asked, the root's last."""
        if self.oid:
            return
        for folder in self.folders.values():
            yield from folder.changed()
        below = {name: folder.oid for name, folder in self.folders.items()}
        content = tree_content(self.files, below)
        self.oid = object_oid("tree", content)
        yield self.oid, content
