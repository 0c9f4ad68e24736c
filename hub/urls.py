"""Addresses."""

from django.urls import include, path

from hub import health
from hub.hf import urls as hf

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("api/", include(hf.api)),
    path("api/", include("hub.api.urls")),
    path("", include("hub.fair.urls")),
    path("", include(hf.top)),
    path("", include("hub.git.urls")),
    # Last: its namespaces match almost anything.
    path("", include("hub.pages.urls")),
]

# What below /api/ is not found answers for itself, as a problem document.
handler404 = "hub.pages.errors.not_found"
handler400 = "hub.pages.errors.unreadable"
handler500 = "hub.pages.errors.broken"
