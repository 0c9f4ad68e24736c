"""A model or a data set: card, likes, publishing in the browser; builds and jobs of models."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hub.fair.headers import typed
from hub.fair.negotiation import negotiated
from hub.pages import forms, markdown
from hub.pages.addresses import address, newest_first
from hub.pages.build import shown_sets
from hub.pages.cite import cited
from hub.pages.files import PREVIEW_BYTES
from hub.pages.frame import frame, repository_page
from hub.pages.views import page, signed_in
from registry.errors import RegistryError
from registry.selectors.access import readable_records, require
from registry.selectors.fair.description import describe
from registry.selectors.fair.former import former_holders
from registry.selectors.fair.versions import version_list, versions_of
from registry.selectors.people.account import namespaces_of
from registry.selectors.repository.findings import findings_of
from registry.selectors.repository.revision import readme_of, revision_get, text_of
from registry.selectors.results.best import best_builds, best_per_target
from registry.selectors.results.build import builds_of
from registry.selectors.results.reproduction import latest_of
from registry.selectors.work import job as job_selector
from registry.selectors.work.queue import waits_of
from registry.services.repository.like import like_add, like_remove
from registry.services.repository.mlmodel import mlmodel_create
from registry.services.repository.revision import Add, commit
from registry.services.storage.blob import blob_store
from registry.services.work.plan import plan
from registry.states import JobKind, RepositoryKind, Role, ToleranceClass
from registry.tables import Build, MLModel, Revision

#: Upper bound on the tables of a data set whose columns its page shows.
_TABLES = 3


@repository_page
def card(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """The landing page, or the metadata record in the format that the client accepts."""
    revision = revision_get(mlmodel, request.GET.get("revision") or None)
    # Avoids a query: this row has its namespace.
    revision.mlmodel = mlmodel
    record = negotiated(request, lambda: describe(revision))
    if record is not None:
        return record
    description = describe(revision)
    context = frame(request, mlmodel, tab="card", revision=revision)
    versions, older = newest_first(versions_of(mlmodel), request)
    graph = context["graph"]
    operators: dict[str, int] = graph.operators if graph else {}
    running = list(job_selector.open_jobs(revision))
    waits = waits_of(running)
    context |= {
        "readme": markdown.render(readme_of(revision)),
        "inspection": job_selector.latest_job(revision, JobKind.INSPECT),
        "running": [(job, waits.get(job.pk)) for job in running],
        "fastest": _fastest(revision),
        "operators": sorted(operators.items(), key=lambda item: -item[1]),
        "tables": [file for file in description.files if file.table][:_TABLES],
        "findings": findings_of(revision) if context["may_write"] else (),
        "versions": version_list(versions),
        "older": older,
        "is_older": "before" in request.GET,
        "former_holders": former_holders(request.user, mlmodel),
        **cited(description),
    }
    response = render(request, "mlmodel/card.html", context)
    return typed(response, description, request, description.landing)


@repository_page
def builds(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Builds per target, test tensors and benchmark records."""
    context = frame(request, mlmodel, tab="builds")
    revision = context["revision"]
    rows = list(builds_of(revision))
    by_target: dict[str, list[Any]] = {}
    for build in rows:
        by_target.setdefault(build.target.slug, []).append(build)
    tests, count = shown_sets(mlmodel, revision)
    context |= {
        "by_target": by_target,
        "reproductions": latest_of(rows),
        "tests": tests,
        "more_tests": count - len(tests),
        "best": best_builds({build.graph_id for build in rows}),
        "records": readable_records(request.user)
        .filter(revision=revision)
        .select_related("target", "device")
        .order_by("-created_at", "pk")[:20],
    }
    return render(request, "mlmodel/builds.html", context)


@repository_page
def jobs(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """The model's jobs."""
    rows = job_selector.jobs_of(request.user, mlmodel=mlmodel.full_name)
    shown, older = newest_first(rows, request)
    context = frame(request, mlmodel, tab="jobs") | {"jobs": shown, "older": older}
    return render(request, "mlmodel/jobs.html", context)


@repository_page
@require_POST
def like(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Add or remove a like; htmx gets the new button only."""
    liked = request.POST.get("liked") == "yes"
    (like_add if liked else like_remove)(actor=signed_in(request), mlmodel=mlmodel)
    if request.htmx:  # type: ignore[attr-defined]
        mlmodel.refresh_from_db(fields=["likes"])
        return render(request, "mlmodel/like.html", {"mlmodel": mlmodel, "is_liked": liked})
    return redirect(address(mlmodel, "card"))


@repository_page
@require_POST
def tune(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Queue a tune job for each enabled target."""
    revision = revision_get(mlmodel, request.POST.get("revision") or None)
    slugs = [job.target.slug for job in plan(actor=request.user, revision=revision) if job.target]
    messages.success(request, f"Queued for {', '.join(slugs)}.")
    return redirect(address(mlmodel, "jobs"))


@page
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponseBase:
    """Create a model or a data set."""
    if not request.user.is_authenticated:
        return redirect("/login?next=/new")
    names = [row.namespace.name for row in namespaces_of(request.user) if row.role != Role.READ]
    initial = {"kind": request.GET.get("kind", RepositoryKind.MODEL)}
    form = forms.NewModelForm(request.POST or None, namespaces=names, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            mlmodel = mlmodel_create(actor=request.user, **form.cleaned_data)
        except RegistryError as error:
            form.add_error("name", str(error))
        else:
            return redirect(address(mlmodel, "upload"))
    status = 400 if form.is_bound else 200
    return render(request, "mlmodel/new.html", {"form": form}, status=status)


@repository_page
@require_http_methods(["GET", "POST"])
def upload(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Publish files in the browser. A repository without a card continues with its questions."""
    require(request.user, role=Role.WRITE, namespace=mlmodel.namespace)
    context = frame(request, mlmodel, tab="files")
    card = text_of(context["revision"], "README.md", most_bytes=PREVIEW_BYTES)
    form = forms.UploadForm(
        request.POST or None, request.FILES or None, initial={"card": card or ""}
    )
    if request.method == "POST" and form.is_valid():
        try:
            _publish(request, mlmodel, form)
        except RegistryError as error:
            form.add_error(None, str(error))
        else:
            return redirect(address(mlmodel, "describe" if card is None else "card"))
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
        branch=mlmodel.default_branch,
        message=form.cleaned_data["message"] or "Upload from the browser",
        operations=operations,
        # Without a card the questions follow, which include the license.
        require_license=bool(form.cleaned_data["card"].strip()),
    )


def _fastest(revision: Revision) -> list[Build]:
    """For each target the best exact build, and the best of all where lower precision wins."""
    builds = best_per_target(revision) + best_per_target(revision, tolerance=ToleranceClass.INT8)
    unique = {build.pk: build for build in builds}.values()
    return sorted(unique, key=lambda build: (build.target.slug, -build.ratio))
