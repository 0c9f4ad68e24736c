"""Operations of a commit: what a client may ask for at a path."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from registry.errors import NotFound
from registry.storage.foldertree import FolderTree
from registry.tables import MLModel
from registry.validation.paths import case_collision, check_once, check_path, file_in_the_way


@dataclass(frozen=True, slots=True)
class Add:
    """Put uploaded bytes at ``path``, in place of any; ``size_bytes`` is stated by the client.

    ``is_lfs``: a large file, whatever ``.gitattributes`` says.
    """

    path: str
    sha256: str
    size_bytes: int | None = None
    is_lfs: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """Put the file ``source_path`` of ``source_revision`` at ``path``.

    ``source`` is its repository, readable by the actor; ``None`` for the commit's own.
    """

    path: str
    source_path: str
    source_revision: str
    source: MLModel | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the file at ``path``, or all files below it."""

    path: str


Operation: TypeAlias = Add | Copy | Delete


def check_operations(operations: Sequence[Operation]) -> None:
    """Check the operations by themselves, without their parent revision.

    Raises ``Invalid`` ``invalid_path`` or ``duplicate_path``.
    """
    for operation in operations:
        path = operation.path
        # Clients write "folder/" to delete a folder.
        check_path(path.removesuffix("/") if isinstance(operation, Delete) else path)
    # A path may be both deleted and put: the put wins.
    check_once(operation.path for operation in operations if not isinstance(operation, Delete))


def paths_deleted(tree: FolderTree, deletions: Iterable[Delete]) -> set[str]:
    """The files of ``tree`` that equal, or are below, one of ``deletions``.

    Raises ``NotFound`` ``file_not_found`` for a deletion of nothing.
    """
    deleted: set[str] = set()
    for deletion in deletions:
        path = deletion.path
        paths = tree.paths_at(path.removesuffix("/"))
        if not paths:
            # Clients of the Hugging Face Hub recognize the first words.
            raise NotFound("file_not_found", f"A file with this name doesn't exist: {path[:200]}")
        deleted.update(paths)
    return deleted


def check_beside(tree: FolderTree, path: str) -> None:
    """Check that a new file at ``path`` can coexist with those in ``tree`` on every file system.

    Raises ``Invalid`` ``case_collision`` or ``invalid_path``.
    """
    rival = tree.rival(path)
    if rival is None:
        return
    start, other = rival
    if start != other:
        raise case_collision(start, other)
    below = path if start != path else tree.paths_at(start)[0]
    raise file_in_the_way(start, below)
