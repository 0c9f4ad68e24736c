"""The manual: the files that ``make docs`` builds, served below ``/docs/``."""

from django.conf import settings
from django.core.exceptions import SuspiciousFileOperation
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe
from django.views.static import serve

from hub.refusals import refusal
from registry.errors import NotFound

_FIRST_PAGE = "index.html"
#: Pages name these files with a digest of their content as query.
_ASSETS = "_static/"


@require_safe
def manual(request: HttpRequest, place: str = _FIRST_PAGE) -> HttpResponseBase:
    """A file of the manual."""
    if not (settings.MANUAL_DIR / _FIRST_PAGE).is_file():
        detail = "This installation has no manual."
        return refusal(request, NotFound("page_not_found", detail, "Build it with `make docs`."))
    try:
        response = serve(request, place, document_root=str(settings.MANUAL_DIR))
    except (OSError, SuspiciousFileOperation) as error:
        # A name that is longer than file systems allow, or a path out of the folder.
        raise Http404 from error
    # Installers give all files of a version the same time, or that of another version.
    del response.headers["Last-Modified"]
    is_named_by_content = place.startswith(_ASSETS) and bool(request.GET)
    lifetime = "max-age=31536000, immutable" if is_named_by_content else "no-cache"
    response.headers["Cache-Control"] = f"public, {lifetime}"
    return response
