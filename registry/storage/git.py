r"""Git's names for content, computed without git.

An id is the SHA-1 of ``<type> <length>\0`` and the object's bytes, so that clients which compare
ids, and git itself, see a true repository::

    blob    the bytes, or the pointer text where the file is in large file storage (LFS)
    tree    entries "<mode> <name>\0<20 bytes of id>", sorted as if folders ended in "/"
    commit  "tree <id>\nparent <id>\nauthor <line>\ncommitter <line>\n\n<message>\n"

Sources: git's ``Documentation/gitformat-*`` and ``object-file.c``; git-lfs ``docs/spec.md``.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_FILE_MODE = b"100644"
_FOLDER_MODE = b"40000"


def blob_oid(data: bytes) -> str:
    """The id of a file with these bytes."""
    return object_oid("blob", data)


def lfs_pointer(sha256: str, size_bytes: int) -> bytes:
    """The text git stores in place of a large file."""
    return (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size_bytes}\n"
    ).encode()


@dataclass(frozen=True, slots=True)
class LfsPointer:
    """What a pointer's text says."""

    sha256: str
    size_bytes: int


#: Lengths of the texts :func:`pointer_of` understands.
POINTER_BYTES = range(120, 161)
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\r?\n"
    rb"oid sha256:([0-9a-f]{64})\r?\nsize ([0-9]{1,18})(?:\r?\n)?"
)


def pointer_of(data: bytes) -> LfsPointer | None:
    """What ``data`` points at, if it is the text :func:`lfs_pointer` gives, line ends aside."""
    match = _POINTER.fullmatch(data)
    return LfsPointer(match[1].decode(), int(match[2])) if match else None


def tree_oid(files: Mapping[str, str]) -> str:
    """The id of the root tree over ``files``: path to blob id, paths parted by ``/``."""
    return folder_oids(files.items())[""]


def folder_oids(files: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Path to tree id of every folder on the way to ``files``; the root's path is "".

    Args:
        files: Pairs of path and blob id.
    """
    root = _Folder()
    for path, oid in files:
        *folders, name = path.split("/")
        folder = root
        for part in folders:
            folder = folder.folders.setdefault(part, _Folder())
        folder.files[name] = oid
    oids: dict[str, str] = {}
    root.name_into(oids, "")
    return oids


def commit_oid(*, tree: str, parent: str | None, author_line: str, message: str) -> str:
    """The id of a commit: see :func:`commit_content`."""
    content = commit_content(tree=tree, parent=parent, author_line=author_line, message=message)
    return object_oid("commit", content)


def commit_content(*, tree: str, parent: str | None, author_line: str, message: str) -> bytes:
    """The commit object's bytes; its author also committed it.

    Args:
        tree: Root tree id.
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
    """The tree object's bytes.

    Args:
        files: Name to blob id.
        folders: Name to tree id.
    """
    entries = [(name.encode(), _FILE_MODE, oid) for name, oid in files.items()]
    # The slash only sorts: git orders a folder as if its name ended in one.
    entries += [(name.encode() + b"/", _FOLDER_MODE, oid) for name, oid in folders.items()]
    return b"".join(
        mode + b" " + name.removesuffix(b"/") + b"\0" + bytes.fromhex(oid)
        for name, mode, oid in sorted(entries)
    )


def object_oid(kind: str, content: bytes) -> str:
    """The id of a ``blob``, ``tree`` or ``commit`` of these bytes."""
    header = f"{kind} {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


@dataclass
class _Folder:
    files: dict[str, str] = field(default_factory=dict)
    folders: dict[str, "_Folder"] = field(default_factory=dict)

    def name_into(self, oids: dict[str, str], path: str) -> str:
        """This folder's id, left in ``oids`` with those of all below it."""
        below = {
            name: folder.name_into(oids, f"{path}/{name}" if path else name)
            for name, folder in self.folders.items()
        }
        oids[path] = object_oid("tree", tree_content(self.files, below))
        return oids[path]
