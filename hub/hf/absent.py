"""Features of the Hugging Face Hub that this hub does not offer: their addresses say so.

Clients show the message of 400. They take 404 for a missing job or bucket, 403 for a token without
permission, and repeat requests after most statuses above 499. Repositories of kinds that this hub
does not have are missing repositories: ``repo_exists`` and ``file_exists`` are then false.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from hub.hf.errors import refuse
from hub.hf.views import View, wire
from registry.tables import MLModel

_METHODS = ("get", "post", "put", "patch", "delete")


def refusing(feature: str) -> View:
    """A view that refuses all methods, because the hub does not offer ``feature``."""

    def view(_request: HttpRequest, **_: Any) -> HttpResponse:
        return refuse(400, f"This hub does not offer {feature}.")

    return _of_all_methods(view)


def without(feature: str) -> View:
    """A view that answers as for a repository that does not exist."""

    def view(_request: HttpRequest, **_: Any) -> HttpResponse:
        return refuse(404, f"This hub does not offer {feature}.", code="RepoNotFound")

    return _of_all_methods(view)


def leaderboard(_request: HttpRequest, _mlmodel: MLModel) -> HttpResponseBase:
    """``GET /api/datasets/{id}/leaderboard``."""
    return refuse(400, "This hub does not offer leaderboards of data sets.")


def _of_all_methods(view: View) -> View:
    return wire(**dict.fromkeys(_METHODS, view))
