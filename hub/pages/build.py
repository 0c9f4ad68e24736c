"""A build: what it is, where its time goes, whether it still does what it did."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages.errors import page
from registry.errors import NotFound
from registry.selectors.results.build import build_get
from registry.selectors.results.profile import hottest, profile_of, summary
from registry.selectors.results.reproduction import history

_HOTTEST = 20
#: Times it was run again, of those there are.
_AGAIN = 20


@page
def build(request: HttpRequest, uuid: str) -> HttpResponseBase:
    """One build, withdrawn ones too."""
    found = build_get(request.user, str(uuid))
    context: dict[str, Any] = {
        "build": found,
        "mlmodel": found.graph.revision.mlmodel,
        "reproductions": list(history(found)[:_AGAIN]),
    }
    try:
        profile = profile_of(found)
    except NotFound:
        return render(request, "mlmodel/build.html", context)
    told = summary(profile)
    whole = max(told["sum_ns"], 1)
    context |= {
        "profile": profile,
        "told": told,
        "gap": told["gap_ns"] / max(told["total_ns"], 1),
        "precisions": [(name, ns, ns / whole) for name, ns in told["precisions"].items()],
        "hottest": [(site, site.median_ns / whole) for site in hottest(profile, _HOTTEST)],
    }
    return render(request, "mlmodel/build.html", context)
