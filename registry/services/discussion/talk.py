"""Permissions, checks and events that the writes to discussions share."""

from typing import Any

from registry.errors import Forbidden, NotFound
from registry.selectors.access import Actor, person, readable_repositories, require, require_scope
from registry.services.audit import audit
from registry.services.webhook.notice import notify_comment, notify_discussion
from registry.states import EventKind, Role, Scope
from registry.tables import Discussion, DiscussionEvent, MLModel, User
from registry.validation.texts import check_lines

#: Characters of a comment.
MAX_COMMENT = 65_536


def require_voice(actor: Actor, mlmodel: MLModel) -> User | None:
    """Refuse unless ``actor`` may discuss ``mlmodel``; the person, ``None`` for the hub.

    Raises:
        Unauthenticated: ``not_authenticated``.
        Forbidden: ``scope_missing``; ``permission_denied`` for a token of another namespace.
        NotFound: ``model_not_found`` or ``dataset_not_found``.
    """
    user = require_scope(actor, Scope.WRITE)
    if user is None:
        return None
    if not readable_repositories(actor).filter(pk=mlmodel.pk).exists():
        raise NotFound(f"{mlmodel.kind}_not_found", "It is gone, or you may not read it.")
    if user.token is not None and user.token.namespace_id not in {None, mlmodel.namespace_id}:
        raise Forbidden(
            "permission_denied",
            "The token is limited to another namespace.",
            "Use a token without a namespace, or sign in.",
        )
    return user


def require_say(actor: Actor, discussion: Discussion) -> None:
    """Refuse unless the actor opened the discussion or may write to its MLModel.

    Raises ``Unauthenticated``, ``Forbidden`` or ``NotFound`` as :func:`require_voice` and
    :func:`registry.selectors.access.require`.
    """
    user = require_voice(actor, discussion.mlmodel)
    if user is not None and discussion.author_id != user.pk:
        require(actor, role=Role.WRITE, namespace=discussion.mlmodel.namespace)


def check_comment(text: str, *, least: int = 1) -> str:
    """Return ``text`` as it is stored; it must have ``least`` to :data:`MAX_COMMENT` characters.

    Raises ``Invalid`` ``invalid_request``.
    """
    return check_lines(text, what="comment", field="comment", most=MAX_COMMENT, least=least)


def event_add(
    actor: Actor, discussion: Discussion, kind: EventKind, text: str, *, before: str = ""
) -> DiscussionEvent:
    """Add an event and notify webhooks, inside the caller's transaction."""
    event = DiscussionEvent.objects.create(
        discussion=discussion, kind=kind, author=person(actor), text=text, before=before
    )
    if kind == EventKind.COMMENT:
        notify_comment(discussion, event, "create")
    elif kind in {EventKind.TITLE, EventKind.STATUS}:
        notify_discussion(discussion, "update")
    return event


def audit_discussion(
    actor: Actor, discussion: Discussion, action: str, detail: dict[str, Any]
) -> None:
    """Log a write to a discussion, inside the caller's transaction."""
    mlmodel = discussion.mlmodel
    audit(
        actor,
        action,
        f"{mlmodel.full_name}#{discussion.num}",
        namespace=mlmodel.namespace.name,
        detail=detail,
    )
