"""What people do in a discussion: say, edit, hide, rename, close, reopen."""

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hub.pages.addresses import address
from hub.pages.discussion import AREA, shown
from hub.pages.errors import act
from hub.pages.frame import frame, repository_page
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
    """Say something; what was written comes back if it cannot be taken."""
    found = discussion_get(mlmodel, num)
    text = request.POST.get("text", "")
    try:
        said = comment_add(actor=request.user, discussion=found, text=text)
    except Invalid as error:
        return shown(request, found, status=400, written=text, fault=str(error))
    return redirect(_place_of(mlmodel, num, said))


@repository_page
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, mlmodel: MLModel, num: int, uuid: UUID) -> HttpResponseBase:
    """Change one's own comment."""
    found = discussion_get(mlmodel, num)
    said = comment_get(found, uuid)
    form = EditForm(request.POST or None, initial={"text": said.text})
    if request.method == "POST" and form.is_valid():
        text = form.cleaned_data["text"]
        try:
            comment_edit(actor=request.user, discussion=found, comment_uuid=uuid, text=text)
        except Invalid as error:
            form.add_error("text", str(error))
        else:
            return redirect(_place_of(mlmodel, num, said))
    context = frame(request, mlmodel, tab="discussions") | {"discussion": found, "form": form}
    status = 400 if form.is_bound else 200
    return render(request, "discussion/edit.html", context, status=status)


@repository_page
@require_POST
def hide(request: HttpRequest, mlmodel: MLModel, num: int, uuid: UUID) -> HttpResponseBase:
    """Erase what a comment says."""
    found = discussion_get(mlmodel, num)
    return act(
        request,
        address(mlmodel, "discussion", num),
        lambda: comment_hide(actor=request.user, discussion=found, comment_uuid=uuid),
        done="The comment is hidden; what it said is gone.",
    )


@repository_page
@require_POST
def rename(request: HttpRequest, mlmodel: MLModel, num: int) -> HttpResponseBase:
    """Give it another title."""
    found, title = discussion_get(mlmodel, num), request.POST.get("title", "")
    return act(
        request,
        address(mlmodel, "discussion", num),
        lambda: discussion_rename(actor=request.user, discussion=found, title=title),
        done="It has a new title.",
    )


@repository_page
@require_POST
def change(request: HttpRequest, mlmodel: MLModel, num: int) -> HttpResponseBase:
    """Open a draft, close, reopen."""
    found, state = discussion_get(mlmodel, num), request.POST.get("state", "")
    return act(
        request,
        address(mlmodel, "discussion", num),
        lambda: discussion_change(actor=request.user, discussion=found, state=state),
        done=f"It is {state} now.",
    )


@repository_page
@require_POST
def merge(request: HttpRequest, mlmodel: MLModel, num: int) -> HttpResponseBase:
    """Merge a pull request; what is in the way is listed on its page."""
    found = discussion_get(mlmodel, num)
    try:
        pull_request_merge(actor=request.user, pull=found)
    except Conflict as error:
        return shown(request, discussion_get(mlmodel, num), status=409, refused=error)
    messages.success(request, f"Merged into {found.target_branch}.")
    return redirect(address(mlmodel, "discussion", num))


def _place_of(mlmodel: MLModel, num: int, said: DiscussionEvent) -> str:
    return f"{address(mlmodel, 'discussion', num)}#event-{said.uuid}"
