"""A model or a data set: likes, publishing in the browser; builds and jobs of models."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hub.pages import forms, snippets
from hub.pages.addresses import address, newest_first
from hub.pages.build import shown_sets
from hub.pages.files import PREVIEW_BYTES
from hub.pages.frame import frame, repository_page
from hub.pages.progress import inspection_of, summary_of
from hub.pages.views import page, signed_in
from hub.pages.ways import is_closed
from registry.errors import Invalid, RegistryError
from registry.scenarios import QUERY_SCENARIOS, Scenario
from registry.selectors.access import readable_records, require
from registry.selectors.people.account import namespaces_of
from registry.selectors.repository.revision import revision_get, text_of
from registry.selectors.results.best import best_builds
from registry.selectors.results.build import builds_of
from registry.selectors.results.conversion import conversion_of
from registry.selectors.results.reproduction import latest_of
from registry.selectors.trust.evidence import evidence_of
from registry.selectors.work import job as job_selector
from registry.services.repository.like import like_add, like_remove
from registry.services.repository.mlmodel import mlmodel_create
from registry.services.repository.revision import Add, commit
from registry.services.storage.blob import blob_store
from registry.services.work.plan import inspect_again, plan
from registry.states import RepositoryKind, Role
from registry.tables import MLModel


@repository_page
def builds(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Builds per target, test tensors and benchmark records."""
    context = frame(request, mlmodel, tab="builds")
    revision = context["revision"]
    scenarios = (Scenario.SINGLE_STREAM, *QUERY_SCENARIOS)
    rows = [build for each in scenarios for build in builds_of(revision, scenario=each)]
    by_target: dict[str, list[Any]] = {}
    for build in rows:
        by_target.setdefault(build.target.slug, []).append(build)
    tests, count = shown_sets(mlmodel, revision)
    name = context["revision_name"]
    context |= {
        "reproduce": snippets.reproduce(
            settings.HUB_URL,
            mlmodel.full_name,
            revision="" if name == mlmodel.default_branch else name,
            sign_in=is_closed(mlmodel),
        ),
        "by_target": by_target,
        "conversion": conversion_of(revision),
        "inspection": None if rows else inspection_of(revision),
        "reproductions": latest_of(rows),
        "tests": tests,
        "more_tests": count - len(tests),
        "foreign": evidence_of(revision),
        "best": best_builds({build.graph_id for build in rows}).of_class,
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
    context["summary"] = summary_of(context["revision"])
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
    """Queue a tune job for each enabled target, or for the one of the form."""
    revision = revision_get(mlmodel, request.POST.get("revision") or None)
    form = forms.TuneForm(request.POST)
    if not form.is_valid():
        raise Invalid("invalid_request", "A search has a target, and a number of seconds.")
    target, budget_s = form.cleaned_data["target"], form.cleaned_data["budget_s"]
    jobs = plan(
        actor=request.user,
        revision=revision,
        targets=[target] if target else None,
        parameters={} if budget_s is None else {"budget_s": budget_s},
    )
    slugs = [job.target.slug for job in jobs if job.target]
    messages.success(request, f"Queued for {', '.join(slugs)}.")
    return redirect(address(mlmodel, "jobs"))


@repository_page
@require_POST
def inspect(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Queue another inspection of a revision, with the conversion that it may need."""
    revision = revision_get(mlmodel, request.POST.get("revision") or None)
    revision.mlmodel = mlmodel
    job = inspect_again(actor=request.user, revision=revision)
    messages.success(request, "The files are inspected again.")
    return redirect("job", job.uuid)


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
            mlmodel = mlmodel_create(actor=request.user, hold=True, **form.cleaned_data)
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
        request.POST or None,
        request.FILES or None,
        initial={"card": card or ""},
        asks_license=not mlmodel.license,
    )
    if request.method == "POST" and form.is_valid():
        try:
            _publish(request, mlmodel, form)
        except RegistryError as error:
            is_of_license = error.code in {"license_missing", "license_unknown"}
            form.add_error("license" if is_of_license and not mlmodel.license else None, str(error))
        else:
            return redirect(address(mlmodel, "describe" if card is None else "card"))
    status = 400 if form.is_bound else 200
    context |= {"form": form, "push": snippets.push(settings.HUB_URL, mlmodel.full_name)}
    return render(request, "mlmodel/upload.html", context, status=status)


def _publish(request: HttpRequest, mlmodel: MLModel, form: forms.UploadForm) -> None:
    operations = []
    for path, stream in form.contents(mlmodel.name):
        blob = blob_store(actor=request.user, stream=stream, sha256=None, size_bytes=None)
        operations.append(Add(path, blob.sha256))
    commit(
        actor=request.user,
        mlmodel=mlmodel,
        branch=mlmodel.default_branch,
        message=form.cleaned_data["message"] or "Upload from the browser",
        operations=operations,
    )
