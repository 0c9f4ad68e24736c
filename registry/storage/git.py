r"""Git objects and their ids, computed without git.

An id is the SHA-1 of ``<type> <length>\0`` and the object's bytes, so that git and other clients
see a regular repository::

    blob    the bytes, or the pointer's text for a file in large file storage (LFS)
    tree    entries "<mode> <name>\0<20 bytes of id>", sorted as if folders ended in "/"
    commit  "tree <id>\nparent <id>\nauthor <line>\ncommitter <line>\n\n<message>\n"

Sources: git's ``Documentation/gitformat-*`` and ``object-file.c``; git-lfs ``docs/spec.md``.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

_FILE_MODE = b"100644"
_FOLDER_MODE = b"40000"
_ENTRY = re.compile(rb"(100644|40000) ([^\0]+)\0(.{20})", re.DOTALL)


def blob_oid(data: bytes) -> str:
    """The id of a file with these bytes."""
    return object_oid("blob", data)


def lfs_pointer(sha256: str, size_bytes: int) -> bytes:
    """The text that git stores in place of a large file."""
    return (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size_bytes}\n"
    ).encode()


@dataclass(frozen=True, slots=True)
class LfsPointer:
    """A parsed git-lfs pointer."""

    sha256: str
    size_bytes: int


#: Lengths in bytes of the texts that :func:`pointer_of` accepts.
POINTER_BYTES = range(120, 161)
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\r?\n"
    rb"oid sha256:([0-9a-f]{64})\r?\nsize ([0-9]{1,18})(?:\r?\n)?"
)


def pointer_of(data: bytes) -> LfsPointer | None:
    """The pointer that ``data`` is the text of (see :func:`lfs_pointer`; CRLF allowed), if any."""
    match = _POINTER.fullmatch(data)
    return LfsPointer(match[1].decode(), int(match[2])) if match else None


def tree_oid(files: Mapping[str, str]) -> str:
    """The id of the root tree over ``files``: path, with ``/`` between folders, to blob id."""
    return folder_oids(files.items())[""]


def folder_oids(files: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Path ("" for the root) to tree id of each folder above ``files`` (pairs of path, blob id)."""
    root = GitTree()
    for path, oid in files:
        root.put(path, oid)
    for _ in root.changed():
        pass
    return dict(root.oids_below(""))


def tree_objects(files: Iterable[tuple[str, str]]) -> tuple[str, dict[str, bytes]]:
    """The id of the root tree over ``files`` (pairs of path, blob id), and id to content of it and
    of all trees below."""
    root = GitTree()
    for path, oid in files:
        root.put(path, oid)
    contents = dict(root.changed())
    return root.oid, contents


def commit_oid(*, tree: str, parent: str | None, author_line: str, message: str) -> str:
    """The id of a commit: see :func:`commit_content`."""
    content = commit_content(tree=tree, parent=parent, author_line=author_line, message=message)
    return object_oid("commit", content)


def commit_content(*, tree: str, parent: str | None, author_line: str, message: str) -> bytes:
    """The commit object's bytes; its author also committed it.

    Args:
        parent: Parent commit id; ``None`` for a first commit.
        author_line: ``Name <email> seconds zone``.
        message: Without its closing line break.
    """
    lines = [f"tree {tree}"]
    if parent:
        lines.append(f"parent {parent}")
    lines += [f"author {author_line}", f"committer {author_line}", "", message, ""]
    return "\n".join(lines).encode()


def tree_content(files: Mapping[str, str], folders: Mapping[str, str]) -> bytes:
    """The tree object's bytes, for files (name to blob id) and folders (name to tree id)."""
    entries = [(name.encode(), _FILE_MODE, oid) for name, oid in files.items()]
    # The slash only sorts: git orders a folder as if its name ended in one.
    entries += [(name.encode() + b"/", _FOLDER_MODE, oid) for name, oid in folders.items()]
    return b"".join(
        mode + b" " + name.removesuffix(b"/") + b"\0" + bytes.fromhex(oid)
        for name, mode, oid in sorted(entries)
    )


def tree_entries(content: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """The inverse of :func:`tree_content`: name to blob id of files, name to tree id of folders."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for mode, name, oid in _ENTRY.findall(content):
        entries = files if mode == _FILE_MODE else folders
        entries[name.decode()] = oid.hex()
    return files, folders


def object_oid(kind: str, content: bytes) -> str:
    """The id of a ``blob``, ``tree`` or ``commit`` of these bytes."""
    header = f"{kind} {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


@dataclass
class GitTree:
    """A tree of files and folders that is updated in place, commit by commit.

    ``files`` maps names to blob ids, ``folders`` names to subtrees. ``oid`` is its tree id; ""
    after a change until :meth:`changed` has been exhausted.
    """

    files: dict[str, str] = field(default_factory=dict)
    folders: dict[str, "GitTree"] = field(default_factory=dict)
    oid: str = ""

    def put(self, path: str, oid: str) -> None:
        """Set ``path`` to the blob of that id."""
        folder = self
        *parts, name = path.split("/")
        for part in parts:
            folder.oid = ""
            folder = folder.folders.setdefault(part, GitTree())
        folder.oid = ""
        folder.files[name] = oid

    def changed(self) -> Iterator[tuple[str, bytes]]:
        """Id and content of each tree object that changed since the last call, the root's last."""
        if self.oid:
            return
        for folder in self.folders.values():
            yield from folder.changed()
        below = {name: folder.oid for name, folder in self.folders.items()}
        content = tree_content(self.files, below)
        self.oid = object_oid("tree", content)
        yield self.oid, content

    def oids_below(self, path: str) -> Iterator[tuple[str, str]]:
        """Path and tree id of all folders, if this one is at ``path``."""
        for name, folder in self.folders.items():
            yield from folder.oids_below(f"{path}/{name}" if path else name)
        yield path, self.oid
