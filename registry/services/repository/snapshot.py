"""From one revision's files to the next: what a commit's operations come to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from registry.errors import Invalid, NotFound
from registry.selectors.access import Actor, require_fetch
from registry.selectors.repository.revision import file_get, files_of, revision_get
from registry.selectors.storage.blob import blob_open, blobs_usable
from registry.selectors.storage.upload import lfs_rule_of
from registry.storage.git import POINTER_BYTES, blob_oid, lfs_pointer, pointer_of
from registry.tables import Blob, MLModel, Revision
from registry.validation.paths import check_once, check_path, check_together


@dataclass(frozen=True, slots=True)
class Add:
    """Put the bytes of that digest at ``path``, in place of what was there.

    ``size_bytes`` is the length the actor believes them to have, if they said.
    """

    path: str
    sha256: str
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """Put at ``path`` what ``source_path`` holds in ``source_revision``.

    ``source`` is where that is, and one the actor may read; ``None`` for the MLModel itself.
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


@dataclass(frozen=True, slots=True)
class Entry:
    """What lies at a path: the bytes, and the git id under which the tree lists them.

    ``changed_in`` is the key of the revision that put it there; ``None`` for the one being made.
    """

    blob: Blob
    oid: str
    is_lfs: bool
    changed_in: int | None = None


def check_operations(operations: Sequence[Operation]) -> None:
    """Check what can be told without looking at any revision.

    Raises:
        Invalid: ``invalid_path`` or ``duplicate_path``.
    """
    for operation in operations:
        # "folder/" is a usual way to name a folder that is to go.
        named = operation.path
        check_path(named.removesuffix("/") if isinstance(operation, Delete) else named)
    # A path may be deleted and put: then it is put.
    check_once(operation.path for operation in operations if not isinstance(operation, Delete))


def entries_of(revision: Revision) -> dict[str, Entry]:
    """Path to entry for all files of ``revision``."""
    return {
        file.path: Entry(file.blob, file.oid, file.is_lfs, file.changed_in_id)
        for file in files_of(revision)
    }


def apply(
    *,
    actor: Actor,
    mlmodel: MLModel,
    before: Mapping[str, Entry],
    operations: Sequence[Operation],
) -> dict[str, Entry]:
    """The entries after ``operations``: deletions first, then what is put.

    Files that no operation names keep their entry, as in git: a new ``.gitattributes`` speaks of
    what is put from then on. A file that is the pointer git-lfs would write stands for the bytes
    it names, as it does in git.

    Raises:
        Invalid: ``blob_missing``, ``size_mismatch``, ``case_collision`` or ``invalid_path``.
        Unauthenticated, Forbidden: ``access_gated`` for a copy.
        NotFound: ``file_not_found`` or ``revision_not_found``.
    """
    deleted = _deleted(before, [op.path for op in operations if isinstance(op, Delete)])
    after = {path: entry for path, entry in before.items() if path not in deleted}
    put = _blobs_put(actor, mlmodel, operations)
    check_together({*after, *put})
    pointed = _pointed_at(actor, put)
    put |= pointed
    attributes = put.get(".gitattributes")
    if attributes is None and ".gitattributes" in after:
        attributes = after[".gitattributes"].blob
    is_large = lfs_rule_of(attributes)
    for path, blob in put.items():
        entry = _pointer_to(blob) if path in pointed else entry_for(path, blob, is_large)
        known = before.get(path)
        # Putting what lies there already changes nothing.
        after[path] = known if known is not None and known.oid == entry.oid else entry
    return after


def entry_for(path: str, blob: Blob, is_large: Callable[[str, int], bool]) -> Entry:
    """The entry for ``blob`` at ``path``: a pointer's id where the file is large."""
    if not is_large(path, blob.size_bytes):
        return Entry(blob, blob.git_oid, is_lfs=False)
    return _pointer_to(blob)


def _pointer_to(blob: Blob) -> Entry:
    return Entry(blob, blob_oid(lfs_pointer(blob.sha256, blob.size_bytes)), is_lfs=True)


def _deleted(entries: Iterable[str], named: Sequence[str]) -> set[str]:
    """Those of ``entries`` that are, or lie in, one of the files and folders ``named``."""
    wanted = {path.removesuffix("/") for path in named}
    found: set[str] = set()
    gone: set[str] = set()
    for path in entries:
        parts = path.split("/")
        above = {"/".join(parts[:length]) for length in range(1, len(parts) + 1)} & wanted
        found |= above
        if above:
            gone.add(path)
    for path in named:
        if path.removesuffix("/") not in found:
            # Clients know the first words, and say how folders are to be named.
            raise NotFound("file_not_found", f"A file with this name doesn't exist: {path[:200]}")
    return gone


def _blobs_put(actor: Actor, mlmodel: MLModel, operations: Sequence[Operation]) -> dict[str, Blob]:
    usable = blobs_usable(actor, {op.sha256 for op in operations if isinstance(op, Add)})
    put: dict[str, Blob] = {}
    for operation in operations:
        if isinstance(operation, Copy):
            put[operation.path] = _copied(actor, mlmodel, operation)
        elif isinstance(operation, Add):
            blob = usable.get(operation.sha256)
            if blob is None:
                raise _missing(operation.path, operation.sha256)
            _check_size(operation.path, blob, operation.size_bytes)
            put[operation.path] = blob
    return put


def _copied(actor: Actor, mlmodel: MLModel, operation: Copy) -> Blob:
    if operation.source is not None and operation.source.pk != mlmodel.pk:
        require_fetch(actor, operation.source)
    revision = revision_get(operation.source or mlmodel, operation.source_revision)
    return file_get(revision, operation.source_path).blob


def _pointed_at(actor: Actor, put: Mapping[str, Blob]) -> dict[str, Blob]:
    """Path to the bytes meant, for what was put as the text of a pointer."""
    pointers = {}
    for path, blob in put.items():
        # Few files have such a length, so few are opened.
        if blob.size_bytes in POINTER_BYTES:
            with blob_open(blob) as stream:
                pointer = pointer_of(stream.read())
            if pointer is not None:
                pointers[path] = pointer
    usable = blobs_usable(actor, {pointer.sha256 for pointer in pointers.values()})
    for path, pointer in pointers.items():
        if pointer.sha256 not in usable:
            raise _missing(path, pointer.sha256)
        _check_size(path, usable[pointer.sha256], pointer.size_bytes)
    return {path: usable[pointer.sha256] for path, pointer in pointers.items()}


def _check_size(path: str, blob: Blob, size_bytes: int | None) -> None:
    if size_bytes is not None and size_bytes != blob.size_bytes:
        raise Invalid(
            "size_mismatch",
            f"{path!r} is said to have {size_bytes} bytes, its content has {blob.size_bytes}.",
            "Send the file again; it changed while it was sent.",
            fields={path: "another size"},
        )


def _missing(path: str, sha256: str) -> Invalid:
    return Invalid(
        "blob_missing",
        f"The bytes of {path!r} ({sha256[:100]!r}) were not uploaded.",
        "Upload them first, then commit again.",
        fields={path: "bytes not uploaded"},
    )
