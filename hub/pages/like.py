"""Liking, by a button that works without JavaScript and is quicker with it."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from hub.pages.addresses import address
from hub.pages.asker import signed_in
from hub.pages.frame import repository_page
from registry.services.repository.like import like_add, like_remove
from registry.tables import MLModel


@repository_page
@require_POST
def like(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Like it, or no longer, as the button says."""
    liked = request.POST.get("liked") == "yes"
    (like_add if liked else like_remove)(actor=signed_in(request), mlmodel=mlmodel)
    if request.htmx:  # type: ignore[attr-defined]
        mlmodel.refresh_from_db(fields=["likes"])
        return render(request, "mlmodel/like.html", {"mlmodel": mlmodel, "is_liked": liked})
    return redirect(address(mlmodel, "card"))
