"""A model: card, files, builds, history, jobs; publishing from the browser."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hub import files as served
from hub.pages import forms, markdown
from hub.pages.errors import page
from hub.pages.paging import newest_first
from registry.errors import RegistryError
from registry.selectors import job as job_selector
from registry.selectors.access import may, readable_records, require_fetch
from registry.selectors.account import namespaces_of
from registry.selectors.build import best_per_target, builds_of
from registry.selectors.graph import graph_of
from registry.selectors.mlmodel import mlmodel_get
from registry.selectors.revision import (
    file_get,
    files_of,
    readme_of,
    refs_of,
    revision_get,
    text_of,
)
from registry.selectors.revision import history as history_of
from registry.services.blob import blob_store
from registry.services.mlmodel import mlmodel_create
from registry.services.plan import plan
from registry.services.revision import Add, commit
from registry.states import JobKind, Role, ToleranceClass
from registry.tables import Build, MLModel, Revision

_PREVIEW_BYTES = 200_000
_TEXT = (".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".py", ".csv", ".cfg", ".gitattributes")


@page
def card(request: HttpRequest, namespace: str, name: str) -> HttpResponseBase:
    """The landing page: what it is, how to load it, how fast it runs where."""
    _, revision, context = _frame(request, namespace, name, tab="card")
    context |= {
        "readme": markdown.render(readme_of(revision)),
        "inspection": job_selector.latest_job(revision, JobKind.INSPECT),
        "running": job_selector.open_jobs(revision),
        "fastest": _fastest(revision),
    }
    return render(request, "mlmodel/card.html", context)


@page
def files(request: HttpRequest, namespace: str, name: str, revision: str) -> HttpResponseBase:
    """The files of a revision."""
    _, found, context = _frame(request, namespace, name, tab="files", rev=revision)
    context |= {"files": files_of(found).select_related("blob")}
    return render(request, "mlmodel/files.html", context)


@page
def file(
    request: HttpRequest, namespace: str, name: str, revision: str, path: str
) -> HttpResponseBase:
    """One file: its identity, and its content where that is text."""
    _, found, context = _frame(request, namespace, name, tab="files", rev=revision)
    row = file_get(found, path)
    require_fetch(request.user, found.mlmodel)
    text = text_of(found, path, most_bytes=_PREVIEW_BYTES) if path.endswith(_TEXT) else None
    context |= {"file": row, "text": text}
    return render(request, "mlmodel/file.html", context)


@page
def raw(
    request: HttpRequest, namespace: str, name: str, revision: str, path: str
) -> HttpResponseBase:
    """The bytes of one file."""
    mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
    require_fetch(request.user, mlmodel)
    row = file_get(revision_get(mlmodel, revision), path)
    return served.file_response(request, row)


@page
def builds(request: HttpRequest, namespace: str, name: str) -> HttpResponseBase:
    """Builds and records, per target."""
    _, revision, context = _frame(request, namespace, name, tab="builds")
    by_target: dict[str, list[Any]] = {}
    for build in builds_of(revision):
        by_target.setdefault(build.target.slug, []).append(build)
    context |= {
        "by_target": by_target,
        "best": best_per_target(revision),
        "records": readable_records(request.user)
        .filter(revision=revision)
        .select_related("target", "device")
        .order_by("-created_at")[:20],
    }
    return render(request, "mlmodel/builds.html", context)


@page
def history(request: HttpRequest, namespace: str, name: str) -> HttpResponseBase:
    """Revisions, newest first."""
    mlmodel, revision, context = _frame(request, namespace, name, tab="history")
    shown, older = newest_first(history_of(mlmodel, revision).select_related("author"), request)
    context |= {"revisions": shown, "older": older}
    return render(request, "mlmodel/history.html", context)


@page
def jobs(request: HttpRequest, namespace: str, name: str) -> HttpResponseBase:
    """The model's jobs."""
    mlmodel, _, context = _frame(request, namespace, name, tab="jobs")
    rows = job_selector.jobs_of(request.user, mlmodel=mlmodel.full_name)
    shown, older = newest_first(rows, request)
    context |= {"jobs": shown, "older": older}
    return render(request, "mlmodel/jobs.html", context)


@page
@require_POST
def tune(request: HttpRequest, namespace: str, name: str) -> HttpResponseBase:
    """Queue a search for every served target."""
    mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
    revision = revision_get(mlmodel, request.POST.get("revision") or None)
    slugs = [job.target.slug for job in plan(actor=request.user, revision=revision) if job.target]
    messages.success(request, f"Queued for {', '.join(slugs)}.")
    return redirect("mlmodel-jobs", namespace=namespace, name=name)


@page
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponseBase:
    """Make a model."""
    if not request.user.is_authenticated:
        return redirect("/login?next=/new")
    names = [row.namespace.name for row in namespaces_of(request.user) if row.role != Role.READ]
    form = forms.NewForm(request.POST or None, namespaces=names)
    if request.method == "POST" and form.is_valid():
        try:
            mlmodel = mlmodel_create(actor=request.user, **form.cleaned_data)
        except RegistryError as error:
            form.add_error("name", str(error))
        else:
            return redirect("upload", namespace=mlmodel.namespace.name, name=mlmodel.name)
    status = 400 if form.is_bound else 200
    return render(request, "mlmodel/new.html", {"form": form}, status=status)


@page
@require_http_methods(["GET", "POST"])
def upload(request: HttpRequest, namespace: str, name: str) -> HttpResponseBase:
    """Publish files from the browser."""
    mlmodel, revision, context = _frame(request, namespace, name, tab="files")
    form = forms.UploadForm(
        request.POST or None,
        request.FILES or None,
        initial={"card": text_of(revision, "README.md", most_bytes=_PREVIEW_BYTES) or forms.CARD},
    )
    if request.method == "POST" and form.is_valid():
        try:
            _publish(request, mlmodel, form)
        except RegistryError as error:
            form.add_error(None, str(error))
        else:
            return redirect("mlmodel", namespace=namespace, name=name)
    status = 400 if form.is_bound else 200
    return render(request, "mlmodel/upload.html", {**context, "form": form}, status=status)


def _publish(request: HttpRequest, mlmodel: MLModel, form: forms.UploadForm) -> None:
    operations = []
    for path, stream in form.contents():
        blob = blob_store(actor=request.user, stream=stream, sha256=None, size_bytes=None)
        operations.append(Add(path, blob.sha256))
    commit(
        actor=request.user,
        mlmodel=mlmodel,
        message=form.cleaned_data["message"] or "Upload from the browser",
        operations=operations,
    )


def _fastest(revision: Revision) -> list[Build]:
    """For each target the best exact build, and the best of all where lower precision wins."""
    builds = best_per_target(revision) + best_per_target(revision, tolerance=ToleranceClass.INT8)
    unique = {build.pk: build for build in builds}.values()
    return sorted(unique, key=lambda build: (build.target.slug, -build.ratio))


def _frame(
    request: HttpRequest, namespace: str, name: str, *, tab: str, rev: str | None = None
) -> tuple[MLModel, Revision, dict[str, Any]]:
    """What every tab of a model's page shows around its own content."""
    mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
    asked = rev or request.GET.get("revision") or None
    revision = revision_get(mlmodel, asked)
    graph = graph_of(revision)
    context = {
        "section": "models",
        "tab": tab,
        "mlmodel": mlmodel,
        "revision": revision,
        "asked": asked or mlmodel.default_branch,
        "refs": refs_of(mlmodel),
        "graph": graph,
        "operators": sorted(graph.operators.items(), key=lambda item: -item[1]) if graph else [],
        "may_write": may(request.user, role=Role.WRITE, namespace=mlmodel.namespace),
    }
    return mlmodel, revision, context
