"""Addresses of records and identifiers; they come before those of namespaces."""

from django.urls import path, re_path

from hub.fair import ark, testtensor
from registry.ids import OID_PATTERN

urlpatterns = [
    re_path(
        rf"^(?P<namespace>[^/]+)/(?P<name>[^/]+)/tests/(?P<oid>{OID_PATTERN})/(?P<path>.+)$",
        testtensor.tensor,
        name="test-tensor",
    ),
    re_path(r"^(?P<text>[Aa][Rr][Kk]:.+)$", ark.resolve, name="ark"),
]
