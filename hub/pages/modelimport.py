"""Imports of models of other servers, and updates of imported ones."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hub.pages.frame import frame, repository_page
from hub.pages.importform import ImportForm
from hub.pages.views import page, signed_in
from registry.errors import NotFound, RegistryError
from registry.selectors.access import Actor, require
from registry.selectors.fair.origin import ImportedVersion, imported_version
from registry.selectors.people.account import namespaces_of
from registry.selectors.work.job import jobs_of
from registry.services.repository.modelimport import (
    ImportRequest,
    import_servers,
    import_submit,
)
from registry.states import JobKind, JobState, Role
from registry.tables import Job, MLModel, Revision
from registry.transitions import JOB_ENDED

_FIELD_OF = {"model_exists": "name", "invalid_name": "name", "import_not_offered": "server"}


@dataclass(frozen=True, slots=True)
class ImportPanel:
    """What the page of a model says of its import.

    Attributes:
        origin: Where it was imported from; ``None`` if no import has succeeded.
        job: Its newest import.
        checked: Result of the newest import if that only compared.
    """

    origin: ImportedVersion | None
    job: Job | None

    @property
    def checked(self) -> str:
        job = self.job
        if job is None or job.state != JobState.SUCCEEDED or not job.parameters.get("compare"):
            return ""
        return str(job.result.get("summary", ""))

    @property
    def is_running(self) -> bool:
        return self.job is not None and self.job.state not in JOB_ENDED


def import_panel(actor: Actor, mlmodel: MLModel, revision: Revision) -> ImportPanel | None:
    """The import of a model at a revision; ``None`` if it was published here."""
    origin = imported_version(revision)
    jobs = jobs_of(actor, kind=JobKind.IMPORT).filter(revision__mlmodel=mlmodel)
    job = jobs.first()
    return ImportPanel(origin, job) if origin or job else None


@page
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponseBase:
    """Import a model under a new name."""
    if not request.user.is_authenticated:
        return redirect("/login?next=/new/import")
    names = [row.namespace.name for row in namespaces_of(request.user) if row.role != Role.READ]
    servers = import_servers()
    form = ImportForm(request.POST or None, servers=servers, namespaces=names)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        name = f"{data['namespace']}/{data['name'] or data['origin'].partition('/')[2]}"
        job = _submit(request, form, name)
        if job is not None:
            return redirect("job", uuid=job.uuid)
    status = 400 if form.is_bound else 200
    context = {"form": form, "servers": servers}
    return render(request, "mlmodel/import_new.html", context, status=status)


@repository_page
@require_http_methods(["GET", "POST"])
def update(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Update an imported model, compare it with its origin, or repeat a failed import."""
    require(request.user, role=Role.WRITE, namespace=mlmodel.namespace)
    context = frame(request, mlmodel, tab="card")
    panel = import_panel(request.user, mlmodel, context["revision"])
    if panel is None:
        raise NotFound("page_not_found", f"{mlmodel.full_name} was not imported.")
    last = panel.job.parameters if panel.job else {}
    form = ImportForm(
        request.POST or None,
        servers=import_servers(),
        is_imported=panel.origin is not None,
        initial={key: last.get(key, "") for key in ("server", "origin", "revision", "license")},
    )
    if request.method == "POST" and form.is_valid():
        job = _submit(request, form, mlmodel.full_name, panel.origin)
        if job is not None:
            return redirect("job", uuid=job.uuid)
    status = 400 if form.is_bound and form.errors else 200
    context |= {"form": form, "imported": panel}
    return render(request, "mlmodel/import_update.html", context, status=status)


def _submit(
    request: HttpRequest, form: ImportForm, name: str, origin: ImportedVersion | None = None
) -> Job | None:
    """Queue the import; ``None`` with errors in the form if it is refused."""
    data = form.cleaned_data
    if origin is not None:
        server, *parts = origin.url.rsplit("/", 2)
        data |= {"server": server, "origin": "/".join(parts)}
    try:
        job = import_submit(
            actor=signed_in(request),
            name=name,
            request=ImportRequest(
                server=data["server"],
                origin=data["origin"],
                revision=data["revision"],
                license=data["license"].strip(),
                visibility=data["visibility"],
                overwrite=data.get("overwrite", False),
                compare="compare" in request.POST,
            ),
            token=data["token"].strip(),
        )
    except RegistryError as error:
        field = _FIELD_OF.get(error.code) or next(iter(error.fields), None)
        form.add_error(field if field in form.fields else None, str(error))
        return None
    messages.success(request, "The hub asks the other server now.")
    return job
