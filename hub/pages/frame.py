"""The frame of all tabs of a model or a data set: lookup, head, tabs."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from hub.fair.tombstone import tombstone_at
from hub.pages.progress import JobLine, progress_of
from hub.pages.views import page
from registry.errors import Forbidden, NotFound, Unauthenticated
from registry.selectors.access import may
from registry.selectors.discussion.discussion import discussions_of
from registry.selectors.fair.origin import imported_version
from registry.selectors.repository.gate import may_fetch, request_of
from registry.selectors.repository.like import is_liked
from registry.selectors.repository.mlmodel import (
    repository_get,
    repository_moved,
    repository_replaced,
)
from registry.selectors.repository.revision import refs_of, revision_get
from registry.selectors.results.graph import graph_of
from registry.selectors.results.runnable import NotRunnable, may_inspect_again, not_runnable
from registry.selectors.work.job import events_of, jobs_of
from registry.states import Gate, JobKind, JobState, RepositoryKind, Role
from registry.tables import MLModel, Revision

View: TypeAlias = Callable[..., HttpResponseBase]


def repository_page(view: View) -> View:
    """Decorator that passes the MLModel or data set of the address: ``view(request, mlmodel)``.

    The old name of a moved one redirects to the new name, for versions also after another took the
    old name; for a deleted one its record is shown.
    Refusals are handled by :func:`hub.pages.views.page`.
    """

    def wrapper(
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
            answer = _instead_of_version(request, mlmodel, (namespace, name), rest)
            if answer is None:
                raise
            return answer
        except (Forbidden, Unauthenticated) as error:
            if error.code != "access_gated":
                raise
            context = frame(request, mlmodel, tab="files") | {"refused": error}
            return render(request, "mlmodel/gated.html", context, status=403)

    return wraps(view)(page(wrapper))


def frame(
    request: HttpRequest,
    mlmodel: MLModel,
    *,
    tab: str,
    revision: Revision | None = None,
    revision_name: str = "",
) -> dict[str, Any]:
    """The context of the head and the tabs.

    Args:
        mlmodel: Repository that the user may read, with its namespace.
        revision: Revision of the page; by default that of the parameter ``revision``.
        revision_name: Name of the revision in the address: branch, tag or commit id.
    """
    revision_name = revision_name or request.GET.get("revision") or mlmodel.default_branch
    revision = revision or revision_get(mlmodel, revision_name)
    revision.mlmodel = mlmodel
    graph = graph_of(revision)
    fault = not_runnable(revision)
    first_import = _first_import(request, revision, fault)
    return {
        "section": "datasets" if mlmodel.kind == RepositoryKind.DATASET else "models",
        "tab": tab,
        "mlmodel": mlmodel,
        "revision": revision,
        "revision_name": revision_name,
        "refs": refs_of(mlmodel),
        "graph": graph,
        "not_runnable": fault,
        "first_import": first_import,
        "first_import_event": _newest_event(first_import),
        "may_inspect_again": may_inspect_again(revision, fault),
        "may_write": may(request.user, role=Role.WRITE, namespace=mlmodel.namespace),
        "may_fetch": may_fetch(request.user, mlmodel),
        "is_liked": is_liked(request.user, mlmodel),
        "own_request": request_of(request.user, mlmodel) if mlmodel.gate != Gate.OPEN else None,
        "talks": discussions_of(mlmodel, state="open").count(),
    }


def _first_import(
    request: HttpRequest, revision: Revision, fault: NotRunnable | None
) -> JobLine | None:
    """The import that is to fill a model that has no files yet."""
    if fault is None or fault.code != "no_model_file" or imported_version(revision):
        return None
    jobs = jobs_of(request.user, kind=JobKind.IMPORT)
    job = jobs.filter(revision__mlmodel=revision.mlmodel_id).first()
    if job is None or job.state == JobState.SUCCEEDED:
        return None
    return JobLine(job, "Import", progress_of(job), None, "")


def _newest_event(line: JobLine | None) -> str:
    """Why an import that waits was queued again; empty if it was not."""
    if line is None or line.job.state != JobState.QUEUED:
        return ""
    event = events_of(line.job).last()
    return event.message if event else ""


def _instead(
    request: HttpRequest, kind: RepositoryKind, old: tuple[str, str]
) -> HttpResponseBase | None:
    """Redirection to the new name of a moved repository, or the record of a deleted one."""
    if request.method not in {"GET", "HEAD"}:
        return None
    moved = repository_moved(request.user, kind, "/".join(old))
    if moved is None:
        return tombstone_at(request, kind, "/".join(old))
    return _redirect(request, moved, old)


def _instead_of_version(
    request: HttpRequest, mlmodel: MLModel, old: tuple[str, str], rest: dict[str, Any]
) -> HttpResponseBase | None:
    """Redirection to the repository that had the name before ``mlmodel`` and has the version, or
    the record of a deleted version."""
    if request.method not in {"GET", "HEAD"}:
        return None
    kind = RepositoryKind(mlmodel.kind)
    # A commit id is the whole part of an address, or the first segment of a place among files.
    rev = request.GET.get("revision") or str(rest.get("oid") or rest.get("place") or "")
    moved = repository_replaced(request.user, kind, mlmodel.full_name, rev.partition("/")[0])
    if moved is not None:
        return _redirect(request, moved, old)
    return tombstone_at(request, kind, mlmodel.full_name, mlmodel=mlmodel)


def _redirect(request: HttpRequest, moved: MLModel, old: tuple[str, str]) -> HttpResponseBase:
    # The address as sent preserves escapes.
    before = reverse(f"{moved.kind}-card", args=old)
    after = reverse(f"{moved.kind}-card", args=(moved.namespace.name, moved.name))
    return HttpResponseRedirect(after + request.get_full_path()[len(before) :])
