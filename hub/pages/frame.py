"""What every tab of a model's or a data set's page shares."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from hub.fair.tombstone import tombstone_at
from hub.pages.errors import page
from registry.errors import Forbidden, NotFound, Unauthenticated
from registry.selectors.access import may, may_fetch
from registry.selectors.discussion.discussion import discussions_of
from registry.selectors.repository.gate import request_of
from registry.selectors.repository.like import is_liked
from registry.selectors.repository.mlmodel import repository_get, repository_moved
from registry.selectors.repository.revision import refs_of, revision_get
from registry.selectors.results.graph import graph_of
from registry.states import Gate, RepositoryKind, Role
from registry.tables import MLModel, Revision

View: TypeAlias = Callable[..., HttpResponseBase]


def repository_page(view: View) -> View:
    """Give ``view`` the MLModel or data set that its address names, in place of the names.

    ``view(request, mlmodel, **rest)``. Who comes by the name of one that was moved is led to where
    it is now; of one that was deleted, the record is shown. Refusals are shown as
    :func:`hub.pages.errors.page` shows them.
    """

    def found(
        request: HttpRequest, /, kind: RepositoryKind, namespace: str, name: str, **rest: Any
    ) -> HttpResponseBase:
        full_name = f"{namespace}/{name}"
        try:
            mlmodel = repository_get(request.user, kind, full_name)
        except NotFound:
            answer = _instead(request, kind, (namespace, name))
            if answer is None:
                raise
            return answer
        try:
            return view(request, mlmodel, **rest)
        except NotFound as error:
            if error.code != "revision_not_found":
                raise
            # It may have been there once.
            left = tombstone_at(request, kind, full_name, mlmodel=mlmodel)
            if left is None:
                raise
            return left
        except (Forbidden, Unauthenticated) as error:
            if error.code != "access_gated":
                raise
            context = frame(request, mlmodel, tab="files") | {"refused": error}
            return render(request, "mlmodel/gated.html", context, status=403)

    return wraps(view)(page(found))


def frame(
    request: HttpRequest,
    mlmodel: MLModel,
    *,
    tab: str,
    revision: Revision | None = None,
    asked: str = "",
) -> dict[str, Any]:
    """The context of the head and the tabs.

    Args:
        request: Its ``?revision=`` counts where no revision is given.
        mlmodel: One the asker may read, with its namespace.
        tab: The tab that is open.
        revision: What the page is of.
        asked: The name by which it was asked for.
    """
    asked = asked or request.GET.get("revision") or mlmodel.default_branch
    revision = revision or revision_get(mlmodel, asked)
    graph = graph_of(revision)
    return {
        "section": "datasets" if mlmodel.kind == RepositoryKind.DATASET else "models",
        "tab": tab,
        "mlmodel": mlmodel,
        "revision": revision,
        "asked": asked,
        "refs": refs_of(mlmodel),
        "graph": graph,
        "may_write": may(request.user, role=Role.WRITE, namespace=mlmodel.namespace),
        "may_fetch": may_fetch(request.user, mlmodel),
        "is_liked": is_liked(request.user, mlmodel),
        "own_request": request_of(request.user, mlmodel) if mlmodel.gate != Gate.OPEN else None,
        "talks": discussions_of(mlmodel, state="open").count(),
    }


def _instead(
    request: HttpRequest, kind: RepositoryKind, old: tuple[str, str]
) -> HttpResponseBase | None:
    """Where what was at an address has gone, or the record that is left of it."""
    if request.method not in {"GET", "HEAD"}:
        return None
    moved = repository_moved(request.user, kind, "/".join(old))
    if moved is None:
        return tombstone_at(request, kind, "/".join(old))
    # Of the address as it was sent: what is escaped in it must stay so.
    before = reverse(f"{kind}-card", args=old)
    after = reverse(f"{kind}-card", args=(moved.namespace.name, moved.name))
    return HttpResponseRedirect(after + request.get_full_path()[len(before) :])
