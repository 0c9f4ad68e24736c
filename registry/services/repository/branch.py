"""Branches as commits move them: permission to commit, locking, and stale parents.

A pull request has a branch of its own, ``refs/pr/<number>``.
"""

from registry.errors import Conflict
from registry.selectors.access import Actor, require
from registry.selectors.repository.revision import branch_get
from registry.services.discussion.talk import require_voice
from registry.states import DiscussionState, Role
from registry.tables import MLModel, Ref, Revision


def require_commit(actor: Actor, mlmodel: MLModel, branch: str) -> None:
    """Refuse unless ``actor`` may commit to ``branch``.

    Needs the role ``write``, except for the author of an open pull request on its branch. Raises
    ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`; ``NotFound``
    ``revision_not_found`` for a pull request's branch; ``Conflict`` ``discussion_closed``.
    """
    if not branch.startswith("refs/pr/"):
        require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
        return
    user = require_voice(actor, mlmodel)
    number = branch_get(mlmodel, branch).name
    pull = mlmodel.discussions.get(num=number)
    if user is not None and pull.author_id != user.pk:
        require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    if pull.state in {DiscussionState.MERGED, DiscussionState.CLOSED}:
        raise Conflict(
            "discussion_closed",
            f"Pull request {number} of {mlmodel.full_name} is {pull.state}.",
            "Open a new one.",
        )


def branch_locked(mlmodel: MLModel, name: str) -> Ref:
    """Lock the branch until the transaction ends, and read it again.

    Raises ``NotFound`` ``revision_not_found``; ``Conflict`` ``stale_parent`` if the branch was
    deleted meanwhile.
    """
    _lock(branch_get(mlmodel, name))
    return branch_get(mlmodel, name)


def require_head(head: Ref) -> None:
    """Lock a branch, and refuse if it has moved on since ``head`` was read.

    Raises ``Conflict`` ``stale_parent``.
    """
    if _lock(head) != head.revision_id:
        raise _stale(head.name)


def require_parent(parent: Revision, oid: str | None) -> None:
    """Refuse unless ``oid`` (at least 7 digits; ``None``: any) names ``parent``.

    Raises ``Conflict`` ``stale_parent``.
    """
    if oid is not None and not (len(oid) >= 7 and parent.oid.startswith(oid.lower())):
        raise _stale(parent.oid[:10])


def _lock(head: Ref) -> int:
    """Hold the row until the transaction ends; the key of the branch's newest revision.

    SQLite has no row locks and needs none: its transactions here begin as the only writer.
    """
    rows = Ref.objects.select_for_update().filter(pk=head.pk)
    revision = rows.values_list("revision_id", flat=True).first()
    if revision is None:
        raise _stale(head.name)
    return revision


def _stale(name: str) -> Conflict:
    return Conflict(
        "stale_parent",
        f"{name!r} has moved on since you looked.",
        "Fetch its newest revision, look at what changed, and commit on top of that.",
    )
