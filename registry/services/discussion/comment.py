"""Comments of a discussion: Markdown, which only the pages render."""

from django.db import transaction
from django.utils import timezone

from registry.errors import Forbidden
from registry.selectors.access import Actor, require
from registry.selectors.discussion.discussion import comment_get
from registry.services.discussion.talk import (
    audit_discussion,
    check_comment,
    event_add,
    require_voice,
)
from registry.services.webhook.notice import notify_comment
from registry.states import EventKind, Role
from registry.tables import Discussion, DiscussionEvent


def comment_add(*, actor: Actor, discussion: Discussion, text: str) -> DiscussionEvent:
    """Add a comment.

    Raises ``Unauthenticated`` or ``Forbidden`` as
    :func:`registry.services.discussion.talk.require_voice`; ``Invalid`` ``invalid_request``.
    """
    require_voice(actor, discussion.mlmodel)
    text = check_comment(text)
    with transaction.atomic():
        comment = event_add(actor, discussion, EventKind.COMMENT, text)
        audit_discussion(actor, discussion, "discussion.comment", {"comment": str(comment.uuid)})
    return comment


def comment_edit(
    *, actor: Actor, discussion: Discussion, comment_uuid: object, text: str
) -> DiscussionEvent:
    """Replace the text of the actor's own comment; the previous text is not kept.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.services.discussion.talk.require_voice`;
            ``permission_denied`` for a comment of another person.
        NotFound: ``comment_not_found``, also for a hidden one.
        Invalid: ``invalid_request``.
    """
    user = require_voice(actor, discussion.mlmodel)
    comment = comment_get(discussion, comment_uuid)
    if user is not None and comment.author_id != user.pk:
        raise Forbidden("permission_denied", "Only who wrote a comment may edit it.")
    text = check_comment(text)
    with transaction.atomic():
        comment.text, comment.edited_at = text, timezone.now()
        comment.save(update_fields=["text", "edited_at"])
        notify_comment(discussion, comment, "update")
        audit_discussion(actor, discussion, "comment.edit", {"comment": str(comment.uuid)})
    return comment


def comment_hide(*, actor: Actor, discussion: Discussion, comment_uuid: object) -> DiscussionEvent:
    """Erase the text of a comment; the event stays.

    Raises ``Unauthenticated`` or ``Forbidden`` unless the actor wrote it or may write to the
    MLModel; ``NotFound`` ``comment_not_found``.
    """
    user = require_voice(actor, discussion.mlmodel)
    comment = comment_get(discussion, comment_uuid)
    if user is not None and comment.author_id != user.pk:
        require(actor, role=Role.WRITE, namespace=discussion.mlmodel.namespace)
    with transaction.atomic():
        comment.text, comment.hidden_at = "", timezone.now()
        comment.save(update_fields=["text", "hidden_at"])
        notify_comment(discussion, comment, "update")
        audit_discussion(actor, discussion, "comment.hide", {"comment": str(comment.uuid)})
    return comment
