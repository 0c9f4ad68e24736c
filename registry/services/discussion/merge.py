"""Merge of pull requests."""

from django.db import transaction
from django.db.models import Q

from registry.errors import Conflict, NotFound
from registry.selectors.access import Actor, require
from registry.selectors.discussion.change import merge_base, oids_of, three_way
from registry.selectors.discussion.discussion import events_of
from registry.selectors.repository.revision import branch_get
from registry.selectors.repository.snapshot import Snapshot, SnapshotBuilder, SnapshotEntry
from registry.services.discussion.discussion import require_unended, state_set
from registry.services.discussion.talk import check_comment, event_add, require_voice
from registry.services.repository.revision import commit_merge
from registry.states import DiscussionState, EventKind, RefKind, Role
from registry.tables import Discussion, Ref, Revision

_MAX_MESSAGE = 10_000
_MAX_NAMED = 50
# Databases bound the number of values in one query.
_AT_ONCE = 500


def pull_request_merge(*, actor: Actor, pull: Discussion, comment: str = "") -> Revision:
    """Apply a pull request's changes to its target branch, as one revision by ``actor``.

    The changes are those since the common ancestor, path by path: see
    :func:`registry.selectors.discussion.change.three_way`.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`; the role
            ``write`` is needed.
        NotFound: ``discussion_not_found`` if it is no pull request; ``revision_not_found`` if its
            target branch was deleted.
        Conflict: ``merge_conflict`` with the paths in its fields; ``discussion_closed`` if it was
            merged or closed; ``nothing_to_commit`` if it changes nothing.
        Invalid: ``invalid_request`` for the comment.
    """
    require_voice(actor, pull.mlmodel)
    require(actor, role=Role.WRITE, namespace=pull.mlmodel.namespace)
    if not pull.is_pull_request:
        raise NotFound("discussion_not_found", f"Discussion {pull.num} is no pull request.")
    comment = check_comment(comment, least=0)
    mlmodel = pull.mlmodel
    with transaction.atomic():
        _lock_branches(pull)
        require_unended(pull)
        target = branch_get(mlmodel, f"refs/heads/{pull.target_branch}")
        line = branch_get(mlmodel, f"refs/pr/{pull.num}")
        revision = commit_merge(
            actor=actor,
            head=target,
            merged=line.revision,
            message=_message(pull),
            snapshot=_merged(pull, target.revision, line.revision),
        )
        was, pull.merged_as = pull.state, revision
        if comment:
            event_add(actor, pull, EventKind.COMMENT, comment)
        state_set(actor, pull, DiscussionState.MERGED, was=was)
    return revision


def _lock_branches(pull: Discussion) -> None:
    """Lock both branches until the transaction ends, ordered by key against deadlocks."""
    branches = Q(kind=RefKind.BRANCH, name=pull.target_branch) | Q(
        kind=RefKind.PULL, name=str(pull.num)
    )
    list(Ref.objects.select_for_update().filter(branches, mlmodel=pull.mlmodel).order_by("pk"))


def _merged(pull: Discussion, ours: Revision, theirs: Revision) -> Snapshot:
    mine = oids_of(ours)
    merged = three_way(oids_of(merge_base(pull, ours, theirs)), mine, oids_of(theirs))
    if merged.conflicts:
        raise Conflict(
            "merge_conflict",
            f"Pull request {pull.num} and {pull.target_branch!r} both changed "
            f"{', '.join(merged.conflicts[:5])[:500]}.",
            "Make those files alike on both sides, or open a new pull request.",
            fields=dict.fromkeys(merged.conflicts[:_MAX_NAMED], "changed on both sides"),
        )
    builder = SnapshotBuilder(ours)
    for path in mine.keys() - merged.entries.keys():
        builder.remove(path)
    changed = [path for path, oid in merged.entries.items() if mine.get(path) != oid]
    for start in range(0, len(changed), _AT_ONCE):
        rows = theirs.files.filter(path__in=changed[start : start + _AT_ONCE])
        for file in rows.select_related("blob"):
            entry = SnapshotEntry(file.blob, file.oid, file.is_lfs)
            before = mine.get(file.path)
            builder.put(file.path, entry, before=before[0] if before else None)
    return builder.finish()


def _message(pull: Discussion) -> str:
    """The commit message: title and number, and the pull request's description."""
    subject = f"{pull.title} (#{pull.num})"
    first = events_of(pull).first()
    if first is None or first.kind != EventKind.COMMENT or first.author_id != pull.author_id:
        return subject
    return f"{subject}\n\n{first.text}".strip()[:_MAX_MESSAGE]
