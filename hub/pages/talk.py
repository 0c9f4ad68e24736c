"""Actions in a discussion: comment, edit, hide, rename, change the state, merge."""

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hub.pages.addresses import address
from hub.pages.discussion import AREA, shown
from hub.pages.frame import frame, repository_page
from hub.pages.views import act
from registry.errors import Conflict, Invalid
from registry.selectors.discussion.discussion import comment_get, discussion_get
from registry.services.discussion.comment import comment_add, comment_edit, comment_hide
from registry.services.discussion.discussion import discussion_change, discussion_rename
from registry.services.discussion.merge import pull_request_merge
from registry.tables import DiscussionEvent, MLModel


class EditForm(forms.Form):
    """The text of a comment."""

    text = forms.CharField(widget=AREA, label="Comment", strip=False)


@repository_page
@require_POST
def comment(request: HttpRequest, mlmodel: MLModel, num: int) -> HttpResponseBase:
    """Add a comment; a refused text is shown again with the error."""
    topic = discussion_get(mlmodel, num)
    text = request.POST.get("text", "")
    try:
        row = comment_add(actor=request.user, discussion=topic, text=text)
    except Invalid as error:
        return shown(request, topic, status=400, written=text, fault=str(error))
    return redirect(_address_of(mlmodel, num, row))


@repository_page
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, mlmodel: MLModel, num: int, uuid: UUID) -> HttpResponseBase:
    """Edit one's own comment."""
    topic = discussion_get(mlmodel, num)
    row = comment_get(topic, uuid)
    form = EditForm(request.POST or None, initial={"text": row.text})
    if request.method == "POST" and form.is_valid():
        text = form.cleaned_data["text"]
        try:
            comment_edit(actor=request.user, discussion=topic, comment_uuid=uuid, text=text)
        except Invalid as error:
            form.add_error("text", str(error))
        else:
            return redirect(_address_of(mlmodel, num, row))
    context = frame(request, mlmodel, tab="discussions") | {"discussion": topic, "form": form}
    status = 400 if form.is_bound else 200
    return render(request, "discussion/edit.html", context, status=status)


@repository_page
@require_POST
def hide(request: HttpRequest, mlmodel: MLModel, num: int, uuid: UUID) -> HttpResponseBase:
    """Hide a comment and erase its text."""
    topic = discussion_get(mlmodel, num)
    return act(
        request,
        address(mlmodel, "discussion", num),
        lambda: comment_hide(actor=request.user, discussion=topic, comment_uuid=uuid),
        done="The comment is hidden and its text erased.",
    )


@repository_page
@require_POST
def rename(request: HttpRequest, mlmodel: MLModel, num: int) -> HttpResponseBase:
    """Change the title."""
    topic, title = discussion_get(mlmodel, num), request.POST.get("title", "")
    return act(
        request,
        address(mlmodel, "discussion", num),
        lambda: discussion_rename(actor=request.user, discussion=topic, title=title),
        done="The title was changed.",
    )


@repository_page
@require_POST
def change(request: HttpRequest, mlmodel: MLModel, num: int) -> HttpResponseBase:
    """Change the state: open a draft, close, reopen."""
    topic, state = discussion_get(mlmodel, num), request.POST.get("state", "")
    return act(
        request,
        address(mlmodel, "discussion", num),
        lambda: discussion_change(actor=request.user, discussion=topic, state=state),
        done=f"The discussion is {state} now.",
    )


@repository_page
@require_POST
def merge(request: HttpRequest, mlmodel: MLModel, num: int) -> HttpResponseBase:
    """Merge a pull request; conflicts are listed on its page."""
    topic = discussion_get(mlmodel, num)
    try:
        pull_request_merge(actor=request.user, pull=topic)
    except Conflict as error:
        return shown(request, discussion_get(mlmodel, num), status=409, refused=error)
    messages.success(request, f"Merged into {topic.target_branch}.")
    return redirect(address(mlmodel, "discussion", num))


def _address_of(mlmodel: MLModel, num: int, event: DiscussionEvent) -> str:
    return f"{address(mlmodel, 'discussion', num)}#event-{event.uuid}"
