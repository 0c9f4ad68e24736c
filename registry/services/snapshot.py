"""From one revision's files to the next: what a commit's operations come to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from registry.errors import Invalid, NotFound
from registry.selectors.access import Actor
from registry.selectors.blob import blob_open, blobs_usable
from registry.selectors.revision import file_get, files_of, revision_get
from registry.storage.git import blob_oid, lfs_pointer
from registry.tables import Blob, MLModel, Revision
from registry.validation.attributes import MAX_ATTRIBUTES_BYTES, lfs_rule
from registry.validation.paths import check_once, check_path, check_together


@dataclass(frozen=True, slots=True)
class Add:
    """Put the bytes of that digest at ``path``, in place of what was there."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Copy:
    """Put at ``path`` what ``source_path`` holds in ``source_revision`` of the same MLModel."""

    path: str
    source_path: str
    source_revision: str


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
    check_once(operation.path for operation in operations)


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
    what is put from then on.

    Raises:
        Invalid: ``blob_missing``, ``case_collision`` or ``invalid_path``.
        NotFound: ``file_not_found`` or ``revision_not_found``.
    """
    after = dict(before)
    for operation in operations:
        if isinstance(operation, Delete):
            _delete(after, operation.path)
    put = _blobs_put(actor, mlmodel, operations)
    check_together({*after, *put})
    attributes = put.get(".gitattributes")
    if attributes is None and ".gitattributes" in after:
        attributes = after[".gitattributes"].blob
    is_large = lfs_rule(_read_attributes(attributes))
    for path, blob in put.items():
        entry = entry_for(path, blob, is_large)
        known = before.get(path)
        # Putting what lies there already changes nothing.
        after[path] = known if known is not None and known.oid == entry.oid else entry
    return after


def entry_for(path: str, blob: Blob, is_large: Callable[[str, int], bool]) -> Entry:
    """The entry for ``blob`` at ``path``: a pointer's id where the file is large."""
    if not is_large(path, blob.size_bytes):
        return Entry(blob, blob.git_oid, is_lfs=False)
    pointer = lfs_pointer(blob.sha256, blob.size_bytes)
    return Entry(blob, blob_oid(pointer), is_lfs=True)


def _delete(entries: dict[str, Entry], path: str) -> None:
    folder = path.removesuffix("/") + "/"
    gone = [name for name in entries if name == path or name.startswith(folder)]
    if not gone:
        raise NotFound("file_not_found", f"There is no file or folder {path[:200]!r} to delete.")
    for name in gone:
        del entries[name]


def _blobs_put(actor: Actor, mlmodel: MLModel, operations: Sequence[Operation]) -> dict[str, Blob]:
    usable = blobs_usable(actor, {op.sha256 for op in operations if isinstance(op, Add)})
    put: dict[str, Blob] = {}
    for operation in operations:
        if isinstance(operation, Copy):
            source = revision_get(mlmodel, operation.source_revision)
            put[operation.path] = file_get(source, operation.source_path).blob
        elif isinstance(operation, Add):
            if operation.sha256 not in usable:
                raise Invalid(
                    "blob_missing",
                    f"The bytes of {operation.path!r} ({operation.sha256[:100]!r}) were not "
                    "uploaded.",
                    "Upload them first, then commit again.",
                    fields={operation.path: "bytes not uploaded"},
                )
            put[operation.path] = usable[operation.sha256]
    return put


def _read_attributes(blob: Blob | None) -> bytes:
    if blob is None:
        return b""
    if blob.size_bytes > MAX_ATTRIBUTES_BYTES:
        raise Invalid(
            "invalid_request",
            f".gitattributes has {blob.size_bytes} bytes, it may have {MAX_ATTRIBUTES_BYTES}.",
        )
    with blob_open(blob) as stream:
        return stream.read()
