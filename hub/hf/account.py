"""``whoami`` and what clients ask about people and organisations."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import signed_in
from hub.hf.views import json_answer
from registry.selectors.account import namespaces_of
from registry.states import NamespaceKind, Role, Scope
from registry.tables import User

_TOKEN_ROLES = {Scope.READ: "read", Scope.WRITE: "write", Scope.ADMIN: "write"}
_ORG_ROLES = {Role.READ: "read", Role.WRITE: "write", Role.ADMIN: "admin"}


def whoami(request: HttpRequest) -> HttpResponse:
    """``GET /api/whoami-v2``."""
    return json_answer(_described(signed_in(request)))


def _described(user: User) -> dict[str, Any]:
    memberships = [
        row for row in namespaces_of(user) if row.namespace.kind == NamespaceKind.ORGANISATION
    ]
    described: dict[str, Any] = {
        "type": "user",
        "id": str(user.uuid),
        "name": user.username,
        "fullname": user.full_name or user.username,
        "email": user.email or None,
        "emailVerified": False,
        "canPay": False,
        "isPro": False,
        "orgs": [
            {
                "type": "org",
                "id": str(row.namespace.uuid),
                "name": row.namespace.name,
                "fullname": row.namespace.title or row.namespace.name,
                "roleInOrg": _ORG_ROLES[Role(row.role)],
            }
            for row in memberships
        ],
    }
    if user.token is not None:
        role = _TOKEN_ROLES[Scope(user.token.scope)]
        described["auth"] = {
            "type": "access_token",
            "accessToken": {
                "displayName": user.token.name,
                "role": role,
                "createdAt": user.token.created_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
    return described
