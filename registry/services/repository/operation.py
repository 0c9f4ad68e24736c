"""Operations of a commit: what a client may ask for at a path."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from registry.errors import NotFound
from registry.tables import MLModel
from registry.validation.paths import check_once, check_path, check_together


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


def paths_left(paths: Collection[str], operations: Sequence[Operation]) -> list[str]:
    """Those of ``paths`` that no operation deletes, in their order, checked to fit beside the new.

    Raises ``NotFound`` ``file_not_found`` for a deletion of nothing; ``Invalid`` ``case_collision``
    or ``invalid_path``.
    """
    gone = _deleted(paths, [op.path for op in operations if isinstance(op, Delete)])
    left = [path for path in paths if path not in gone]
    check_together({*left, *(op.path for op in operations if not isinstance(op, Delete))})
    return left


def _deleted(paths: Iterable[str], deletions: Collection[str]) -> set[str]:
    """The members of ``paths`` that equal, or are below, one of ``deletions``."""
    targets = {path.removesuffix("/") for path in deletions}
    matched: set[str] = set()
    gone: set[str] = set()
    for path in paths:
        parts = path.split("/")
        above = {"/".join(parts[:length]) for length in range(1, len(parts) + 1)} & targets
        matched |= above
        if above:
            gone.add(path)
    for path in deletions:
        if path.removesuffix("/") not in matched:
            # Clients of the Hugging Face Hub recognize the first words.
            raise NotFound("file_not_found", f"A file with this name doesn't exist: {path[:200]}")
    return gone
