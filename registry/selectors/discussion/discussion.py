"""Reads of discussions and pull requests.

Readers of an MLModel may read its discussions, so these functions take a result of
:func:`registry.selectors.repository.mlmodel.repository_get`.
"""

from typing import Literal, TypeAlias

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.people.account import user_find
from registry.states import DiscussionState, EventKind
from registry.tables import Discussion, DiscussionEvent, MLModel

Kind: TypeAlias = Literal["all", "discussion", "pull_request"]
Standing: TypeAlias = Literal["all", "open", "closed"]

#: States by the filter of lists: a draft counts as open, a merged pull request as closed.
_STATES = {
    "open": (DiscussionState.OPEN, DiscussionState.DRAFT),
    "closed": (DiscussionState.CLOSED, DiscussionState.MERGED),
}
# Maximum of the column for numbers on all databases.
_LARGEST_NUMBER = 2**31 - 1


def discussions_of(
    mlmodel: MLModel, *, kind: Kind = "all", state: Standing = "all", author: str = ""
) -> QuerySet[Discussion]:
    """Discussions and pull requests of ``mlmodel`` with their authors, newest first.

    Args:
        state: ``open`` includes drafts, ``closed`` includes merged pull requests.
        author: Only those opened by the person of that name, in any case.
    """
    rows = mlmodel.discussions.select_related("author")
    if kind != "all":
        rows = rows.filter(is_pull_request=kind == "pull_request")
    if state != "all":
        rows = rows.filter(state__in=_STATES[state])
    if author:
        person = user_find(author)
        rows = rows.filter(author=person) if person else rows.none()
    return rows.order_by("-num")


def discussion_get(mlmodel: MLModel, num: int) -> Discussion:
    """Discussion ``num`` with its author and merge revision.

    Raises ``NotFound``: ``discussion_not_found``.
    """
    rows = mlmodel.discussions.select_related(
        "author", "merged_as", "parted_at", "mlmodel__namespace"
    )
    discussion = rows.filter(num=num).first() if 0 < num <= _LARGEST_NUMBER else None
    if discussion is None:
        raise NotFound(
            "discussion_not_found", f"{mlmodel.full_name} has no discussion {str(num)[:20]}."
        )
    return discussion


def events_of(discussion: Discussion) -> QuerySet[DiscussionEvent]:
    """Its events with their authors, oldest first."""
    return discussion.events.select_related("author").order_by("pk")


def comment_get(discussion: Discussion, comment_uuid: object) -> DiscussionEvent:
    """A comment. Raises ``NotFound``: ``comment_not_found``, also for a hidden one."""
    comment = (
        events_of(discussion)
        .filter(kind=EventKind.COMMENT, uuid=parse_uuid(comment_uuid), hidden_at=None)
        .first()
    )
    if comment is None:
        raise NotFound(
            "comment_not_found",
            f"Discussion {discussion.num} has no comment {str(comment_uuid)[:40]!r}.",
        )
    return comment
