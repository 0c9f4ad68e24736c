"""Addresses of a git remote: ``/[datasets/]namespace/name[.git]``."""

from django.urls import re_path

from hub.git import views
from registry.states import RepositoryKind

_ID = r"(?P<namespace>[^/]+)/(?P<name>[^/]+?)(?:\.git)?"

urlpatterns = [
    re_path(rf"^{prefix}{_ID}/{place}$", view, {"kind": kind})
    for prefix, kind in (("datasets/", RepositoryKind.DATASET), ("", RepositoryKind.MODEL))
    for place, view in (
        ("info/refs", views.info_refs),
        ("git-upload-pack", views.upload_pack),
        ("git-receive-pack", views.receive_pack),
    )
]
