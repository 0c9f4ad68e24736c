"""URL configuration of the hub."""

from django.urls import include, path

from hub import health, metrics
from hub.hf import urls as hf

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("api/", include(hf.api)),
    path("api/", include("hub.api.urls")),
    path("", include("hub.admin.urls")),
    path("", include("hub.fair.urls")),
    path("", include(hf.top)),
    path("", include("hub.git.urls")),
    # The addresses of namespaces match almost anything.
    path("", include("hub.pages.urls")),
    path("", include(hf.nameless)),
]

# Below /api/ errors are problem documents; see hub.api.urls.
handler404 = "hub.pages.views.not_found"
handler400 = "hub.pages.views.unreadable"
handler500 = "hub.pages.views.broken"
