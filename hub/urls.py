"""Addresses."""

from django.urls import include, path

from hub import health

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("api/", include("hub.api.urls")),
    # Last: its namespaces match almost anything.
    path("", include("hub.pages.urls")),
]

# What below /api/ is not found answers for itself, as a problem document.
handler404 = "hub.pages.errors.not_found"
handler500 = "hub.pages.errors.broken"
