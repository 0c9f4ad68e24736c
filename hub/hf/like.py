"""Likes."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import actor_of, signed_in
from hub.hf.account import person_brief
from hub.hf.address import page_answer
from hub.hf.shapes import moment
from hub.hf.views import json_answer
from registry.selectors.people.account import user_get
from registry.selectors.repository.like import likers_of, likes_of
from registry.services.repository.like import like_add, like_remove
from registry.tables import Like, MLModel


def like(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``POST /api/models/{id}/like``."""
    like_add(actor=signed_in(request), mlmodel=mlmodel)
    return json_answer({})


def unlike(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``DELETE /api/models/{id}/like``; without a like it has no effect."""
    like_remove(actor=signed_in(request), mlmodel=mlmodel)
    return json_answer({})


def likers(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``GET /api/models/{id}/likers``."""
    return page_answer(request, likers_of(mlmodel), lambda row: person_brief(row.user))


def likes(request: HttpRequest, name: str) -> HttpResponse:
    """``GET /api/users/{name}/likes``."""
    return page_answer(request, likes_of(actor_of(request), user_get(name)), _shape)


def _shape(row: Like) -> dict[str, Any]:
    return {
        "createdAt": moment(row.created_at),
        "repo": {"name": row.mlmodel.full_name, "type": row.mlmodel.kind},
    }
