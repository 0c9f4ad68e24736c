"""URL configuration of the API."""

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularSwaggerSplitView

from hub.api.root import RootView
from hub.api.views import OpenApiView, UnknownAddress

urlpatterns = [
    re_path(r"^v1/?$", RootView.as_view(), name="api-root"),
    path("v1/openapi.json", OpenApiView.as_view(), name="openapi"),
    path("v1/", include("hub.api.v1.urls")),
    path(
        "docs",
        SpectacularSwaggerSplitView.as_view(url_name="openapi", template_name="docs/api.html"),
        name="api-docs",
    ),
    # Last: other protocols have addresses below /api/, too.
    re_path(r"^", UnknownAddress.as_view()),
]
