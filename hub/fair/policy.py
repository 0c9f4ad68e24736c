"""``/policy``: the persistence policy of records, files and identifiers."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from registry.fair.ark import TEST_NAAN
from registry.fair.linked.context import HUB_TERMS
from registry.fair.parts import METADATA_LICENSE
from registry.selectors.fair.hub import this_hub
from registry.services.fair.doi import is_configured


@require_safe
def policy(request: HttpRequest) -> HttpResponse:
    """The persistence policy that records refer to."""
    context = {
        "hub": this_hub(),
        "email": settings.PUBLISHER_EMAIL,
        "naan": settings.NAAN,
        "is_test_naan": settings.NAAN == TEST_NAAN,
        "has_dois": is_configured(),
        "grace_hours": int(settings.GC_GRACE.total_seconds() // 3600),
        "terms": HUB_TERMS,
        "metadata_license": METADATA_LICENSE,
    }
    return render(request, "fair/policy.html", context)
