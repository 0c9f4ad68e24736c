"""``whoami``, and the overviews and lists of people and organisations."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import actor_of, signed_in
from hub.hf.address import page_answer
from hub.hf.shapes import moment
from hub.hf.views import json_answer
from registry.errors import NotFound
from registry.selectors.access import may
from registry.selectors.people.account import (
    members_of,
    namespace_get,
    namespaces_of,
    organisations_of,
    user_get,
)
from registry.selectors.repository.like import likes_of
from registry.selectors.repository.mlmodel import counts_of, repositories_of
from registry.states import NamespaceKind, RepositoryKind, Role, Scope
from registry.tables import MLModel, Namespace, User

_TOKEN_ROLES = {Scope.READ: "read", Scope.WRITE: "write", Scope.ADMIN: "write"}


def whoami(request: HttpRequest) -> HttpResponse:
    """``GET /api/whoami-v2``."""
    user = signed_in(request)
    shape: dict[str, Any] = {
        **person_brief(user),
        "id": str(user.uuid),
        "name": user.username,
        "email": user.email or None,
        "emailVerified": False,
        "canPay": False,
        "orgs": [
            _organisation_brief(row.namespace) | {"roleInOrg": row.role}
            for row in namespaces_of(user)
            if row.namespace.kind == NamespaceKind.ORGANISATION
        ],
    }
    if user.token is not None:
        shape["auth"] = {
            "type": "access_token",
            "accessToken": {
                "displayName": user.token.name,
                "role": _TOKEN_ROLES[Scope(user.token.scope)],
                "createdAt": moment(user.token.created_at),
            },
        }
    return json_answer(shape)


def overview(request: HttpRequest, name: str) -> HttpResponse:
    """``GET /api/users/{name}/overview``: the public profile of a person."""
    actor, user = actor_of(request), user_get(name)
    return json_answer(
        {
            **person_brief(user),
            **_counts(request, namespace_get(actor, user.username)),
            "numLikes": likes_of(actor, user).count(),
            "numFollowing": 0,
            "numFollowers": 0,
            "orgs": [_organisation_brief(org) for org in organisations_of(actor, user)],
        }
    )


def organisation_overview(request: HttpRequest, name: str) -> HttpResponse:
    """``GET /api/organizations/{name}/overview``."""
    organisation = _organisation(request, name)
    shape = _organisation_brief(organisation) | _counts(request, organisation)
    actor = actor_of(request)
    if may(actor, role=Role.READ, namespace=organisation):
        shape["numUsers"] = members_of(actor, organisation).count()
    return json_answer(shape | {"numFollowers": 0})


def organisation_members(request: HttpRequest, name: str) -> HttpResponse:
    """``GET /api/organizations/{name}/members``, for its members."""
    rows = members_of(actor_of(request), _organisation(request, name))
    return page_answer(request, rows, lambda row: person_brief(row.user))


def organisation_followers(request: HttpRequest, name: str) -> HttpResponse:
    """``GET /api/organizations/{name}/followers``: always empty."""
    _organisation(request, name)
    return json_answer([])


def follows(request: HttpRequest, name: str) -> HttpResponse:  # noqa: ARG001
    """``GET /api/users/{name}/followers`` and ``following``: always empty."""
    user_get(name)
    return json_answer([])


def repositories(request: HttpRequest, name: str = "") -> HttpResponse:
    """``GET /api/settings/repositories`` and ``/api/organizations/{name}/settings/repositories``:
    storage used by each repository of a namespace, for its members."""
    actor = signed_in(request)
    namespace = namespace_get(actor, name or actor.username)
    rows, used_bytes = repositories_of(actor, namespace)

    def describe(row: MLModel) -> dict[str, Any]:
        return {
            "id": row.full_name,
            "type": row.kind,
            "visibility": row.visibility,
            "updatedAt": moment(row.updated_at),
            "storage": row.used_bytes,
            "storagePercent": 100 * row.used_bytes / used_bytes if used_bytes else 0,
        }

    return page_answer(request, rows, describe)


def person_brief(user: User) -> dict[str, Any]:
    """A person, as a member of lists."""
    return {
        "type": "user",
        "user": user.username,
        "fullname": user.full_name or user.username,
        "avatarUrl": "",
        "isPro": False,
    }


def _organisation_brief(namespace: Namespace) -> dict[str, Any]:
    return {
        "type": "org",
        "id": str(namespace.uuid),
        "name": namespace.name,
        "fullname": namespace.title or namespace.name,
        "avatarUrl": "",
    }


def _organisation(request: HttpRequest, name: str) -> Namespace:
    namespace = namespace_get(actor_of(request), name)
    if namespace.kind != NamespaceKind.ORGANISATION:
        raise NotFound("namespace_not_found", f"{namespace.name} is a person, not an organisation.")
    return namespace


def _counts(request: HttpRequest, namespace: Namespace) -> dict[str, int]:
    counts = counts_of(actor_of(request), namespace)
    return {
        "numModels": counts.get(RepositoryKind.MODEL, 0),
        "numDatasets": counts.get(RepositoryKind.DATASET, 0),
        "numSpaces": 0,
    }
