"""Discussions and pull requests, below ``/api/{models,datasets}/<id>/discussions``.

Shapes as ``HfApi`` and ``huggingface_hub.community`` (2.4.0) read them.
"""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.html import linebreaks

from hub.credentials import actor_of, signed_in
from hub.hf.address import whole_number
from hub.hf.errors import BadRequest
from hub.hf.shapes import moment
from hub.hf.views import absolute, flag_in, json_answer, json_body, text_in, web_path
from registry.selectors.discussion.change import conflicts_of, diff_of
from registry.selectors.discussion.discussion import discussion_get, discussions_of, events_of
from registry.selectors.repository.gate import may_fetch
from registry.services.discussion.comment import comment_add, comment_edit, comment_hide
from registry.services.discussion.discussion import (
    discussion_change,
    discussion_open,
    discussion_rename,
    pull_request_open,
)
from registry.services.discussion.merge import pull_request_merge
from registry.states import EventKind
from registry.tables import Discussion, DiscussionEvent, MLModel, User

_PAGE_SIZE = 50
_LAST_PAGE = 100_000


def listing(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``GET``: one page ``p``, filtered by ``type``, ``status`` and ``author``."""
    rows = discussions_of(
        mlmodel,
        kind=_one_of(request, "type", ("all", "discussion", "pull_request")),  # type: ignore[arg-type]
        state=_one_of(request, "status", ("all", "open", "closed")),  # type: ignore[arg-type]
        author=request.GET.get("author", ""),
    )
    page = whole_number(request, "p", 0, most=_LAST_PAGE + 1)
    if page > _LAST_PAGE:
        raise BadRequest(f"'p' goes to {_LAST_PAGE}.")
    start = page * _PAGE_SIZE
    return json_answer(
        {
            "discussions": [_shape(mlmodel, row) for row in rows[start : start + _PAGE_SIZE]],
            "count": rows.count(),
            "start": start,
        }
    )


def create(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``POST {title, description, pullRequest}``. A pull request without changes is a draft."""
    actor, data = signed_in(request), json_body(request)
    title, description = text_in(data, "title"), text_in(data, "description", "")
    if flag_in(data, "pullRequest"):
        discussion = pull_request_open(
            actor=actor, mlmodel=mlmodel, title=title, description=description, draft=True
        )
    else:
        discussion = discussion_open(
            actor=actor, mlmodel=mlmodel, title=title, description=description
        )
    return json_answer(
        {
            "num": discussion.num,
            "url": _address(mlmodel, discussion),
            "pullRequest": discussion.is_pull_request,
        }
    )


def details(request: HttpRequest, mlmodel: MLModel, num: str) -> HttpResponse:
    """``GET``; with ``diff=1`` also what a pull request changes."""
    discussion = discussion_get(mlmodel, int(num))
    shape = _shape(mlmodel, discussion)
    shape["events"] = [_event(event) for event in events_of(discussion)]
    if discussion.is_pull_request:
        shape["changes"] = {"base": f"refs/heads/{discussion.target_branch}"}
        if discussion.merged_as is not None:
            shape["changes"]["mergeCommitId"] = discussion.merged_as.oid
        shape["filesWithConflicts"] = conflicts_of(discussion)
        # A gate protects the lines of files, but not the discussion.
        if flag_in(request.GET, "diff") and may_fetch(actor_of(request), mlmodel):
            shape["diff"] = diff_of(discussion)
    return json_answer(shape)


def comment(request: HttpRequest, mlmodel: MLModel, num: str) -> HttpResponse:
    """``POST {comment}``."""
    actor, discussion, data = _inputs(request, mlmodel, num)
    event = comment_add(actor=actor, discussion=discussion, text=text_in(data, "comment"))
    return json_answer({"newMessage": _event(event)})


def title(request: HttpRequest, mlmodel: MLModel, num: str) -> HttpResponse:
    """``POST {title}``."""
    actor, discussion, data = _inputs(request, mlmodel, num)
    event = discussion_rename(actor=actor, discussion=discussion, title=text_in(data, "title"))
    return json_answer({"newTitle": _event(event)})


def status(request: HttpRequest, mlmodel: MLModel, num: str) -> HttpResponse:
    """``POST {status, comment?}``."""
    actor, discussion, data = _inputs(request, mlmodel, num)
    event = discussion_change(
        actor=actor,
        discussion=discussion,
        state=text_in(data, "status"),
        comment=text_in(data, "comment", ""),
    )
    return json_answer({"newStatus": _event(event)})


def merge(request: HttpRequest, mlmodel: MLModel, num: str) -> HttpResponse:
    """``POST {comment?}``."""
    actor, discussion, data = _inputs(request, mlmodel, num)
    revision = pull_request_merge(
        actor=actor, pull=discussion, comment=text_in(data, "comment", "")
    )
    return json_answer({"mergeCommitId": revision.oid})


def edit(request: HttpRequest, mlmodel: MLModel, num: str, comment_id: str) -> HttpResponse:
    """``POST {content}``."""
    actor, discussion, data = _inputs(request, mlmodel, num)
    event = comment_edit(
        actor=actor, discussion=discussion, comment_uuid=comment_id, text=text_in(data, "content")
    )
    return json_answer({"updatedComment": _event(event)})


def hide(request: HttpRequest, mlmodel: MLModel, num: str, comment_id: str) -> HttpResponse:
    """``POST``."""
    actor, discussion, _ = _inputs(request, mlmodel, num)
    event = comment_hide(actor=actor, discussion=discussion, comment_uuid=comment_id)
    return json_answer({"updatedComment": _event(event)})


def _inputs(
    request: HttpRequest, mlmodel: MLModel, num: str
) -> tuple[User, Discussion, dict[str, Any]]:
    return signed_in(request), discussion_get(mlmodel, int(num)), json_body(request)


def _one_of(request: HttpRequest, name: str, choices: tuple[str, ...]) -> str:
    value = request.GET.get(name) or "all"
    if value not in choices:
        raise BadRequest(f"{name!r} must be one of {', '.join(choices)}.")
    return value


def _address(mlmodel: MLModel, discussion: Discussion) -> str:
    return absolute(f"{web_path(mlmodel)}/discussions/{discussion.num}")


def _shape(mlmodel: MLModel, discussion: Discussion) -> dict[str, Any]:
    return {
        "num": discussion.num,
        "title": discussion.title,
        "status": discussion.state,
        "isPullRequest": discussion.is_pull_request,
        "createdAt": moment(discussion.created_at),
        "repo": {"name": mlmodel.full_name, "type": mlmodel.kind},
        **_by(discussion.author),
    }


def _by(author: User | None) -> Mapping[str, Any]:
    """Member ``author``; none, which clients show as "deleted", if the account is gone."""
    if author is None:
        return {}
    return {
        "author": {
            "name": author.username,
            "fullname": author.full_name or author.username,
            "type": "user",
        }
    }


def _event(event: DiscussionEvent) -> dict[str, Any]:
    return {
        "id": event.uuid.hex,
        "type": event.kind,
        "createdAt": moment(event.created_at),
        "data": _event_data(event),
        **_by(event.author),
    }


def _event_data(event: DiscussionEvent) -> dict[str, Any]:
    match event.kind:
        case EventKind.STATUS:
            return {"status": event.text}
        case EventKind.TITLE:
            return {"from": event.before, "to": event.text}
        case EventKind.COMMIT:
            return {"subject": event.text, "oid": event.before}
    latest = {
        "raw": event.text,
        # Escaped text; only the pages render Markdown.
        "html": linebreaks(event.text, autoescape=True),
        "updatedAt": moment(event.edited_at or event.created_at),
        **_by(event.author),
    }
    return {
        "edited": event.edited_at is not None,
        "hidden": event.hidden_at is not None,
        "latest": latest,
        # Earlier texts of a comment are not stored.
        "history": [latest] if event.edited_at is not None else [],
        "numEdits": 1 if event.edited_at is not None else 0,
    }
