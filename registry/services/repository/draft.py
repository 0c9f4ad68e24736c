"""Revisions before they are written: a requested commit resolved against its parent."""

from collections.abc import Sequence
from dataclasses import dataclass

from registry.errors import RegistryError
from registry.selectors.access import Actor, person
from registry.selectors.repository.snapshot import (
    README,
    Snapshot,
    SnapshotBuilder,
    entry_of,
)
from registry.selectors.storage.upload import lfs_rule_of
from registry.services.fair.derivation import ALONE, ModelOrigin, Origins
from registry.services.repository.branch import require_parent
from registry.services.repository.content import check_formats, contents_of
from registry.services.repository.operation import (
    Delete,
    Operation,
    check_beside,
    paths_deleted,
)
from registry.states import RepositoryKind
from registry.tables import MLModel, Revision
from registry.validation.license import license_in, license_missing
from registry.validation.model_index import check_model_index

_ATTRIBUTES = ".gitattributes"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest:
    """A commit as it was requested; see :func:`registry.services.repository.revision.commit`."""

    actor: Actor
    mlmodel: MLModel
    message: str
    operations: Sequence[Operation]
    parent_oid: str | None
    is_checked: bool
    imported: ModelOrigin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionDraft:
    """A revision that is not written yet; ``origins`` are its sources beside ``parent``."""

    parent: Revision | None
    message: str
    snapshot: Snapshot
    origins: Origins = ALONE


def commit_draft(request: CommitRequest, parent: Revision) -> RevisionDraft:
    """The revision that ``request`` makes on top of ``parent``: deletions first, then what is put.

    Files that no operation names keep their entry, as in git: a changed ``.gitattributes`` applies
    to what is put from then on.

    Raises:
        Conflict: ``stale_parent`` if the request names another parent.
        Invalid: ``case_collision``, ``invalid_path``, ``blob_missing``, ``size_mismatch``,
            ``invalid_card``, ``license_missing``, ``license_unknown``, ``onnx_unreadable`` or
            ``tflite_invalid``.
        Unauthenticated, Forbidden: ``access_gated`` for a copy.
        NotFound: ``file_not_found`` or ``revision_not_found``.
    """
    require_parent(parent, request.parent_oid)
    builder = SnapshotBuilder(parent)
    tree = builder.tree
    puts = [one.path for one in request.operations if not isinstance(one, Delete)]
    before = {path: tree.oid_at(path) for path in puts}
    deletions = [one for one in request.operations if isinstance(one, Delete)]
    for path in paths_deleted(tree, deletions):
        builder.remove(path)
    contents = contents_of(request.actor, request.mlmodel, request.operations)
    if request.is_checked and request.mlmodel.kind == RepositoryKind.MODEL:
        check_formats(contents)
    attributes = contents.get(_ATTRIBUTES)
    is_large = lfs_rule_of(
        attributes.blob if attributes else builder.blobs([_ATTRIBUTES]).get(_ATTRIBUTES)
    )
    for path, content in contents.items():
        if tree.oid_at(path) is None:
            check_beside(tree, path)
        is_lfs = content.is_pointer or is_large(path, content.blob.size_bytes)
        builder.put(path, entry_of(content.blob, is_lfs=is_lfs), before=before[path])
    snapshot = builder.finish()
    if license_in(snapshot.card) == "" and request.is_checked:
        raise license_missing(snapshot.card.values)
    # Older cards may be malformed; only what is put must be right.
    if README in contents and request.mlmodel.kind == RepositoryKind.MODEL:
        check_model_index(snapshot.card)
    sources = [content.source for content in contents.values() if content.source is not None]
    copied = {(source.pk, oid): (source, oid) for source, oid in sources}
    return RevisionDraft(
        parent=parent,
        message=request.message,
        snapshot=snapshot,
        origins=Origins(copied=list(copied.values()), imported=request.imported),
    )


def is_commit_of(request: CommitRequest, revision: Revision) -> bool:
    """Whether ``revision`` is the commit that ``request`` makes."""
    parent = revision.parent
    author = person(request.actor)
    if parent is None or (revision.author, revision.message) != (author, request.message):
        return False
    try:
        return commit_draft(request, parent).snapshot.tree_oid == revision.tree_oid
    except RegistryError:
        return False
