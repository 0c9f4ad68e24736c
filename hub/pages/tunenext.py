"""What to tune next on a target, and a button that searches schedules."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hub.pages.inspector import InspectorLinks
from hub.pages.views import page, signed_in
from registry.errors import NotFound
from registry.selectors.access import may
from registry.selectors.analysis.tunenext import Opportunity, profiled_targets, tune_next
from registry.selectors.repository.mlmodel import repository_get
from registry.selectors.repository.revision import revision_get
from registry.services.work.job import job_submit
from registry.states import JobKind, RepositoryKind, Role
from registry.tables import Target

_ROWS = 100


@page
@require_http_methods(["GET", "POST"])
def tune_next_page(request: HttpRequest) -> HttpResponseBase:
    """The list; a POST queues the search for schedules of one model."""
    targets = profiled_targets(request.user)
    slug = request.POST.get("target") or request.GET.get("target", "")
    target = next((one for one in targets if one.slug == slug), None)
    if slug and target is None:
        raise NotFound(
            "target_not_found", f"No model that you may read is profiled on {slug[:64]}."
        )
    target = target or next((one for one in targets if not one.is_emulated), None)
    target = target or next(iter(targets), None)
    if request.method == "POST" and target is not None:
        return _search(request, target)
    context: dict[str, Any] = {"section": "models", "targets": targets, "target": target}
    if target is not None:
        result = tune_next(request.user, target)
        context |= {
            "result": result,
            "rows": [
                (
                    one,
                    _page(one),
                    may(request.user, role=Role.WRITE, namespace=one.mlmodel.namespace),
                )
                for one in result.opportunities[:_ROWS]
            ],
        }
    return render(request, "performance/tunenext.html", context)


def _search(request: HttpRequest, target: Target) -> HttpResponseBase:
    actor = signed_in(request)
    name = request.POST.get("mlmodel", "")
    mlmodel = repository_get(actor, RepositoryKind.MODEL, name)
    job = job_submit(
        actor=actor,
        kind=JobKind.SCHEDULE,
        revision=revision_get(mlmodel, request.POST.get("revision") or None),
        target=target,
    )
    messages.success(request, f"The search for schedules of {mlmodel.full_name} is queued.")
    return redirect("job", uuid=job.uuid)


def _page(one: Opportunity) -> str:
    links = InspectorLinks(one.mlmodel, str(one.build.uuid), one.group.sequence, "", beside=True)
    return links.page()
