"""DOIs of the versions of a model or a data set, in its settings."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST

from hub.pages.addresses import address
from hub.pages.frame import repository_page
from hub.pages.views import act
from registry.selectors.access import Actor, require
from registry.selectors.fair.identifier import identifiers_of, pid_url
from registry.selectors.repository.revision import revision_get
from registry.selectors.work.job import jobs_of
from registry.services.fair.doi import doi_request, is_configured
from registry.states import JobKind, Role
from registry.tables import MLModel

#: The newest DOIs; DataCite lists all.
_SHOWN = 20


def panel(actor: Actor, mlmodel: MLModel) -> dict[str, Any]:
    """Context of the panel: whether the hub registers DOIs, the registered ones, the last job."""
    registered = identifiers_of(mlmodel).exclude(doi="").filter(revision__isnull=False)
    return {
        "is_configured": is_configured(),
        "registered": [
            {"doi": row.doi, "oid": row.oid, "pid": pid_url(row.name)}
            for row in registered[:_SHOWN]
        ],
        "job": jobs_of(actor, kind=JobKind.DOI).filter(revision__mlmodel=mlmodel).first(),
    }


@repository_page
@require_POST
def register(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Request a DOI for the chosen version."""
    require(request.user, role=Role.WRITE, namespace=mlmodel.namespace)
    revision = revision_get(mlmodel, request.POST.get("revision") or None)
    return act(
        request,
        f"{address(mlmodel, 'settings')}#doi",
        lambda: doi_request(actor=request.user, revision=revision),
        done="Requested. The DOI will be listed here in a moment.",
    )
