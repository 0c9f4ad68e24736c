"""Creates and deletes branches and tags."""

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST

from hub.pages.addresses import address
from hub.pages.frame import repository_page
from hub.pages.views import act
from registry.errors import Invalid
from registry.selectors.repository.revision import revision_get
from registry.services.repository.ref import ref_create, ref_delete
from registry.states import RefKind
from registry.tables import MLModel


@repository_page
@require_POST
def create(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Create a branch or a tag."""
    name = request.POST.get("name", "").strip()

    def make() -> None:
        revision = revision_get(mlmodel, request.POST.get("revision", "").strip() or None)
        kind = _kind_in(request)
        ref_create(actor=request.user, mlmodel=mlmodel, kind=kind, name=name, revision=revision)

    return act(request, _back(mlmodel), make, done=f"{name} was created.")


@repository_page
@require_POST
def delete(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Delete a branch or a tag; its revisions stay."""
    name = request.POST.get("name", "")

    def remove() -> None:
        ref_delete(actor=request.user, mlmodel=mlmodel, kind=_kind_in(request), name=name)

    return act(request, _back(mlmodel), remove, done=f"{name} was deleted; its revisions stay.")


def _kind_in(request: HttpRequest) -> RefKind:
    kind = request.POST.get("kind", "")
    if kind not in {RefKind.BRANCH, RefKind.TAG}:
        raise Invalid("invalid_request", "Choose a branch or a tag.")
    return RefKind(kind)


def _back(mlmodel: MLModel) -> str:
    return f"{address(mlmodel, 'settings')}#lines"
