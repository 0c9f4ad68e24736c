"""Commits: the one way by which revisions are added to a repository.

The stages, each called once and from above: permission
(:mod:`registry.services.repository.branch`), operations resolved to files
(:mod:`~registry.services.repository.draft`), rows
(:mod:`~registry.services.repository.history`), the branch's head and what follows from it
(:mod:`~registry.services.repository.publication`).

A commit is prepared outside any transaction, from the branch's head as it was read, and becomes
visible in one short transaction that first locks the branch: if the head has changed, the commit
is stale. Other readers see either nothing of it or all of it.
"""

from collections.abc import Sequence

from django.db import transaction

from registry.errors import Conflict, NotFound
from registry.selectors.access import Actor
from registry.selectors.discussion.change import base_of
from registry.selectors.discussion.discussion import discussion_get
from registry.selectors.repository.revision import branch_get
from registry.selectors.repository.snapshot import (
    Snapshot,
    SnapshotBuilder,
    entry_of,
    snapshot_of,
)
from registry.services.fair.derivation import ModelOrigin, Origins
from registry.services.fair.identifier import identifiers_mint
from registry.services.repository.branch import branch_locked, require_commit
from registry.services.repository.draft import (
    CommitRequest,
    RevisionDraft,
    commit_draft,
    is_commit_of,
)
from registry.services.repository.history import revision_write
from registry.services.repository.operation import Add, Copy, Delete, Operation, check_operations
from registry.services.repository.publication import publish
from registry.states import RefKind
from registry.tables import Blob, MLModel, Ref, Revision
from registry.validation.texts import check_lines

__all__ = ["Add", "Copy", "Delete", "Operation", "commit", "commit_first", "commit_merge", "squash"]

_MAX_MESSAGE = 65_536


def commit(  # noqa: PLR0913 - each is a decision of its own
    *,
    actor: Actor,
    mlmodel: MLModel,
    branch: str = "main",
    message: str,
    operations: Sequence[Operation],
    parent_oid: str | None = None,
    is_checked: bool = True,
    again_ok: bool = False,
    imported: ModelOrigin | None = None,
) -> Revision:
    """Make the next revision of a branch.

    Args:
        actor: Needs the role ``write``; the author of a pull request may add to it without.
        branch: An existing branch, or ``refs/pr/<number>``.
        operations: All of them, or none, take effect. Bytes must have been uploaded.
        parent_oid: The revision the actor built on (7 digits or more); if the branch has moved
            on, the commit is refused. ``None``: build on whatever the head is.
        is_checked: Whether the resulting card must name a license, and files of a model must be
            what their names promise (:func:`~registry.services.repository.content.check_formats`).
            False for the Hugging Face protocol, whose clients commit files before cards.
        again_ok: Whether a commit may be sent again by a client that did not receive the answer:
            if nothing would change, or the head is this very commit, the head is returned.
        imported: The repository of another server whose files these are.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`;
            ``quota_exceeded``.
        NotFound: ``revision_not_found`` for the branch, ``file_not_found``.
        Conflict: ``stale_parent``, ``nothing_to_commit`` or ``discussion_closed``.
        Invalid: ``invalid_request`` for the message; see also
            :func:`registry.services.repository.draft.commit_draft`.
    """
    require_commit(actor, mlmodel, branch)
    message = _check_message(message)
    check_operations(operations)
    request = CommitRequest(
        actor=actor,
        mlmodel=mlmodel,
        message=message,
        operations=operations,
        parent_oid=parent_oid,
        is_checked=is_checked,
        imported=imported,
    )
    try:
        return _commit_onto(branch_get(mlmodel, branch), request)
    except (Conflict, NotFound) as refusal:
        head = branch_get(mlmodel, branch).revision
        is_unchanged = refusal.code == "nothing_to_commit"
        if again_ok and (is_unchanged or is_commit_of(request, head)):
            return head
        if refusal.code != "stale_parent" or parent_oid is not None:
            raise
    # The branch moved meanwhile and no parent was named: once more, with the branch locked.
    with transaction.atomic():
        return _commit_onto(branch_locked(mlmodel, branch), request)


def squash(*, actor: Actor, mlmodel: MLModel, branch: str, message: str) -> Revision:
    """Replace the history of a branch, or of a pull request's, by one revision with its files.

    What a squashed pull request changes is unchanged: the place where it parted from its target
    branch is stored. Earlier revisions stay, with their builds and records, and can be addressed by
    id.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        NotFound: ``revision_not_found``.
        Conflict: ``discussion_closed``.
        Invalid: ``invalid_request`` for the message.
    """
    require_commit(actor, mlmodel, branch)
    message = _check_message(message)
    with transaction.atomic():
        head = branch_locked(mlmodel, branch)
        if head.kind == RefKind.PULL:
            pull = discussion_get(mlmodel, int(head.name))
            pull.parted_at, _ = base_of(pull)
            pull.save(update_fields=["parted_at"])
        snapshot = snapshot_of(head.revision, keeps_changes=False)
        draft = RevisionDraft(parent=None, message=message, snapshot=snapshot)
        return publish(actor, head, draft)


def commit_merge(
    *, actor: Actor, head: Ref, merged: Revision, message: str, snapshot: Snapshot
) -> Revision:
    """Make the next revision of a branch from a merge, inside the caller's transaction.

    The caller has checked that ``actor`` may write to the branch.

    Args:
        head: The branch as it is, locked.
        snapshot: The files of the result, as changes to those of ``head``.

    Raises:
        Conflict: ``nothing_to_commit``.
        Forbidden: ``quota_exceeded``.
        Invalid: ``blob_missing`` if bytes were collected meanwhile.
    """
    draft = RevisionDraft(
        parent=head.revision,
        message=message,
        snapshot=snapshot,
        origins=Origins(merged=merged),
    )
    return publish(actor, head, draft)


def commit_first(*, actor: Actor, mlmodel: MLModel, attributes: Blob) -> Revision:
    """Make the first revision and the default branch, inside the caller's transaction.

    ``attributes`` is the content of ``.gitattributes``, the only file.
    """
    builder = SnapshotBuilder(None)
    builder.put(".gitattributes", entry_of(attributes, is_lfs=False), before=None)
    draft = RevisionDraft(parent=None, message="initial commit", snapshot=builder.finish())
    revision = revision_write(actor, mlmodel, draft)
    Ref.objects.create(
        mlmodel=mlmodel, kind=RefKind.BRANCH, name=mlmodel.default_branch, revision=revision
    )
    identifiers_mint(mlmodel, [revision])
    return revision


def _commit_onto(head: Ref, request: CommitRequest) -> Revision:
    draft = commit_draft(request, head.revision)
    return publish(request.actor, head, draft)


def _check_message(message: str) -> str:
    return check_lines(message, what="commit message", field="message", most=_MAX_MESSAGE)
