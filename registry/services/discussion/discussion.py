"""Discussions and pull requests: opening, renaming, closing and reopening.

Every signed-in person who may read an MLModel may open and comment. The author of a discussion,
and actors who may write to its MLModel, may rename, close and reopen it. Merging is in
:mod:`registry.services.discussion.merge`.
"""

from django.db import transaction
from django.db.models import Max

from registry.errors import Conflict, Invalid, NotFound
from registry.selectors.access import Actor, person
from registry.selectors.repository.revision import branch_get
from registry.services.discussion.talk import (
    audit_discussion,
    check_comment,
    event_add,
    require_say,
    require_voice,
)
from registry.services.webhook.notice import notify_discussion
from registry.states import DiscussionState, EventKind, RefKind
from registry.tables import Discussion, DiscussionEvent, MLModel, Ref, Revision
from registry.validation.texts import check_text

MAX_TITLE = 300


def discussion_open(
    *, actor: Actor, mlmodel: MLModel, title: str, description: str = ""
) -> Discussion:
    """Open a discussion; its description is the first comment.

    Raises ``Unauthenticated`` or ``Forbidden`` as
    :func:`registry.services.discussion.talk.require_voice`; ``NotFound`` ``model_not_found`` or
    ``dataset_not_found``; ``Invalid`` ``invalid_request``.
    """
    require_voice(actor, mlmodel)
    check_text(title, field="title", most=MAX_TITLE, least=1)
    description = check_comment(description, least=0)
    with transaction.atomic():
        return _open(actor, mlmodel, Discussion(title=title.strip()), description)


def pull_request_open(
    *,
    actor: Actor,
    mlmodel: MLModel,
    title: str,
    description: str = "",
    branch: str | None = None,
    start: Revision | None = None,
    draft: bool = False,
) -> Discussion:
    """Open a pull request; its commits go to its branch ``refs/pr/<num>``.

    Args:
        branch: The target branch; ``None`` for the default branch.
        start: The revision of this MLModel that its branch starts at; ``None`` for the head of
            the target branch.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.services.discussion.talk.require_voice`.
        NotFound: ``revision_not_found`` for the branch or ``start``; ``model_not_found`` or
            ``dataset_not_found``.
        Invalid: ``invalid_request``, or ``invalid_ref`` if ``branch`` is a pull request's branch.
    """
    require_voice(actor, mlmodel)
    check_text(title, field="title", most=MAX_TITLE, least=1)
    description = check_comment(description, least=0)
    if start is not None and start.mlmodel_id != mlmodel.pk:
        raise NotFound("revision_not_found", "That revision belongs to another model.")
    with transaction.atomic():
        target = branch_get(mlmodel, branch or mlmodel.default_branch)
        if target.kind != RefKind.BRANCH:
            raise Invalid("invalid_ref", "A pull request changes a branch, not another one.")
        pull = Discussion(title=title.strip(), is_pull_request=True, target_branch=target.name)
        if draft:
            pull.state = DiscussionState.DRAFT
        _open(actor, mlmodel, pull, description)
        Ref.objects.create(
            mlmodel=mlmodel,
            kind=RefKind.PULL,
            name=str(pull.num),
            revision=start or target.revision,
        )
    return pull


def pull_request_committed(*, actor: Actor, head: Ref, revision: Revision) -> None:
    """Add the event of a commit to a pull request's branch ``head``.

    Called in the commit's transaction, which has locked the branch, so that no commit is added to a
    pull request that was merged or closed meanwhile. Raises ``Conflict`` ``discussion_closed``.
    """
    pull = head.mlmodel.discussions.get(num=head.name)
    require_unended(pull)
    subject = revision.message.partition("\n")[0]
    event_add(actor, pull, EventKind.COMMIT, subject, before=revision.oid)


def discussion_rename(*, actor: Actor, discussion: Discussion, title: str) -> DiscussionEvent:
    """Change the title.

    Raises ``Unauthenticated`` or ``Forbidden`` as
    :func:`registry.services.discussion.talk.require_say`; ``Invalid`` ``invalid_request``.
    """
    require_say(actor, discussion)
    check_text(title, field="title", most=MAX_TITLE, least=1)
    with transaction.atomic():
        old, discussion.title = discussion.title, title.strip()
        discussion.save(update_fields=["title"])
        event = event_add(actor, discussion, EventKind.TITLE, discussion.title, before=old)
        audit_discussion(
            actor, discussion, "discussion.rename", {"from": old, "to": discussion.title}
        )
    return event


def discussion_change(
    *, actor: Actor, discussion: Discussion, state: DiscussionState | str, comment: str = ""
) -> DiscussionEvent:
    """Open a draft, close or reopen a discussion, optionally with a comment.

    Raises ``Unauthenticated`` or ``Forbidden`` as
    :func:`registry.services.discussion.talk.require_say`; ``Conflict`` ``discussion_closed`` if it
    was merged; ``Invalid`` ``invalid_request`` for another state, or its present state.
    """
    require_say(actor, discussion)
    comment = check_comment(comment, least=0)
    if state not in {DiscussionState.OPEN, DiscussionState.CLOSED}:
        raise Invalid(
            "invalid_request",
            f"A discussion is made open or closed, not {str(state)[:50]!r}.",
            fields={"status": "neither open nor closed"},
        )
    with transaction.atomic():
        was = Discussion.objects.select_for_update(no_key=True).get(pk=discussion.pk).state
        if was == DiscussionState.MERGED:
            raise _ended(discussion, was)
        if was == state:
            raise Invalid("invalid_request", f"It is {was} already.", fields={"status": was})
        if comment:
            event_add(actor, discussion, EventKind.COMMENT, comment)
        return state_set(actor, discussion, DiscussionState(state), was=was)


def require_unended(pull: Discussion) -> None:
    """Refuse a pull request that was merged or closed; lock it until the transaction ends.

    Raises ``Conflict`` ``discussion_closed``.
    """
    rows = Discussion.objects.select_for_update(no_key=True)
    state = rows.values_list("state", flat=True).get(pk=pull.pk)
    if state in {DiscussionState.MERGED, DiscussionState.CLOSED}:
        raise _ended(pull, state)


def state_set(
    actor: Actor, discussion: Discussion, state: DiscussionState, *, was: str
) -> DiscussionEvent:
    """Write the new state and ``merged_as``, inside the transaction that has locked the row."""
    discussion.state = state
    discussion.save(update_fields=["state", "merged_as"])
    audit_discussion(actor, discussion, "discussion.state", {"from": was, "to": state.value})
    return event_add(actor, discussion, EventKind.STATUS, state.value, before=was)


def _open(actor: Actor, mlmodel: MLModel, discussion: Discussion, description: str) -> Discussion:
    # Locked until the transaction ends: serializes the numbers, and excludes a deletion.
    held = MLModel.objects.select_for_update(no_key=True).filter(pk=mlmodel.pk)
    if held.values_list("pk", flat=True).first() is None:
        raise NotFound(f"{mlmodel.kind}_not_found", "It was deleted just now.")
    newest = mlmodel.discussions.aggregate(newest=Max("num"))["newest"] or 0
    discussion.mlmodel, discussion.num = mlmodel, newest + 1
    discussion.state = discussion.state or DiscussionState.OPEN
    discussion.author = person(actor)
    discussion.save(force_insert=True)
    notify_discussion(discussion, "create")
    if description:
        event_add(actor, discussion, EventKind.COMMENT, description)
    audit_discussion(
        actor, discussion, "discussion.open", {"pull_request": discussion.is_pull_request}
    )
    return discussion


def _ended(discussion: Discussion, state: str) -> Conflict:
    return Conflict(
        "discussion_closed",
        f"Discussion {discussion.num} of {discussion.mlmodel.full_name} is {state}.",
        "Open a new one.",
    )
