"""Discussions and pull requests: their list, the page of one, the form of a new one."""

from typing import Any, cast

from django import forms
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hub.pages import markdown
from hub.pages.addresses import address, newest_first
from hub.pages.commit import changed
from hub.pages.frame import frame, repository_page
from registry.errors import Invalid, RegistryError
from registry.selectors.discussion.change import base_of, conflicts_of
from registry.selectors.discussion.discussion import discussion_get, discussions_of, events_of
from registry.selectors.repository.revision import branch_get, refs_of
from registry.services.discussion.discussion import discussion_open, pull_request_open
from registry.services.discussion.talk import require_voice
from registry.states import DiscussionState, EventKind, RefKind
from registry.tables import Discussion, DiscussionEvent, MLModel, Revision

KINDS = {"all": "All", "discussion": "Discussions", "pull_request": "Pull requests"}
STANDINGS = {"open": "Open", "closed": "Closed", "all": "All"}
#: Input of a comment.
AREA = forms.Textarea(attrs={"rows": 6, "placeholder": "Markdown"})


class NewDiscussionForm(forms.Form):
    """Title, text and, for a pull request, the branch with the proposed changes."""

    title = forms.CharField(max_length=300)
    description = forms.CharField(widget=AREA, required=False, label="What it is about")
    branch = forms.ChoiceField(
        required=False,
        label="Changes to propose",
        help_text="A branch makes it a pull request into the default branch.",
    )

    def __init__(self, *args: Any, mlmodel: MLModel, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        branches = refs_of(mlmodel).filter(kind=RefKind.BRANCH)
        names = [ref.name for ref in branches if ref.name != mlmodel.default_branch]
        field = cast("forms.ChoiceField", self.fields["branch"])
        field.choices = [("", "none: discussion only"), *((name, name) for name in names)]


@repository_page
def discussions(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Discussions, newest first, filtered by state, kind and author."""
    chosen: dict[str, Any] = {
        "kind": request.GET.get("kind", "all"),
        "author": request.GET.get("author", "").strip(),
    }
    state: Any = request.GET.get("state", "open")
    if chosen["kind"] not in KINDS or state not in STANDINGS:
        raise Invalid("invalid_request", "Unknown kind or state of discussions.")
    rows = discussions_of(mlmodel, state=state, **chosen)
    shown, older = newest_first(rows, request, order=("-num",))
    context = frame(request, mlmodel, tab="discussions") | chosen
    context |= {"shown": shown, "older": older, "state": state, "kinds": KINDS}
    names: list[Any] = list(STANDINGS)
    context["standings"] = [
        (name, STANDINGS[name], discussions_of(mlmodel, state=name, **chosen).count())
        for name in names
    ]
    return render(request, "discussion/list.html", context)


@repository_page
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Open a discussion or a pull request."""
    require_voice(request.user, mlmodel)
    form = NewDiscussionForm(request.POST or None, mlmodel=mlmodel)
    if request.method == "POST" and form.is_valid():
        try:
            opened = _open(request, mlmodel, form.cleaned_data)
        except RegistryError as error:
            form.add_error(None, str(error))
        else:
            return redirect(address(mlmodel, "discussion", opened.num))
    context = frame(request, mlmodel, tab="discussions") | {"form": form}
    status = 400 if form.is_bound else 200
    return render(request, "discussion/new.html", context, status=status)


@repository_page
def discussion(request: HttpRequest, mlmodel: MLModel, num: int) -> HttpResponseBase:
    """The page of a discussion: its events and the forms that the user may submit."""
    return shown(request, discussion_get(mlmodel, num))


@repository_page
def changes(request: HttpRequest, mlmodel: MLModel, num: int) -> HttpResponseBase:
    """The changes that a pull request proposes or has merged."""
    pull = discussion_get(mlmodel, num)
    if not pull.is_pull_request:
        raise Invalid("invalid_request", f"Discussion {num} is not a pull request.")
    context = _frame_of(request, pull, part="changes")
    before, after = _sides(pull)
    context |= changed(before, after, readable=context["may_fetch"])
    return render(request, "discussion/changes.html", context)


def shown(
    request: HttpRequest, row: Discussion, *, status: int = 200, **more: Any
) -> HttpResponseBase:
    """The page of a discussion. ``more``: further context, such as the error of a form."""
    context = _frame_of(request, row, part="talk") | more
    if context["may_merge"]:
        context["conflicts"] = conflicts_of(row)
    context["events"] = [_event(request, context, event) for event in events_of(row)]
    return render(request, "discussion/page.html", context, status=status)


def _frame_of(request: HttpRequest, row: Discussion, *, part: str) -> dict[str, Any]:
    context = frame(request, row.mlmodel, tab="discussions")
    own = request.user.is_authenticated and row.author_id == request.user.pk
    ended = row.state in {DiscussionState.CLOSED, DiscussionState.MERGED}
    return context | {
        "discussion": row,
        "line": f"refs/pr/{row.num}",
        "part": part,
        "may_say": own or context["may_write"],
        "ended": ended,
        "may_merge": row.is_pull_request and not ended and context["may_write"],
    }


def _event(request: HttpRequest, context: dict[str, Any], event: DiscussionEvent) -> dict[str, Any]:
    own = request.user.is_authenticated and event.author_id == request.user.pk
    is_shown = event.kind == EventKind.COMMENT and event.hidden_at is None
    return {
        "event": event,
        "text": markdown.render(event.text) if is_shown else None,
        "may_edit": is_shown and own,
        "may_hide": is_shown and (own or context["may_write"]),
    }


def _open(request: HttpRequest, mlmodel: MLModel, values: dict[str, str]) -> Discussion:
    text: dict[str, Any] = {name: values[name] for name in ("title", "description")}
    if not values["branch"]:
        return discussion_open(actor=request.user, mlmodel=mlmodel, **text)
    start = branch_get(mlmodel, values["branch"]).revision
    return pull_request_open(actor=request.user, mlmodel=mlmodel, start=start, **text)


def _sides(pull: Discussion) -> tuple[Revision | None, Revision]:
    """Revisions before and after the changes of a pull request."""
    if pull.merged_as is not None:
        return pull.merged_as.parent, pull.merged_as
    return base_of(pull)
