"""Access tokens."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example, page_of
from hub.api.views import WRITES, ApiView, PageQuery, Strict, body_of, paged, query_of
from registry.selectors.people.account import namespace_get, tokens_of
from registry.services.people.token import token_issue, token_revoke
from registry.states import Scope

TOKEN_EXAMPLE = {
    "uuid": "5f0c2a3e-6f1b-4f0e-9d3a-0a6b2f0f7f11",
    "name": "notebook",
    "prefix": "hpf_9TzX",
    "scope": "write",
    "namespace": None,
    "created_at": "2026-01-02T03:04:05Z",
    "expires_at": None,
    "last_used_at": None,
}


@example(TOKEN_EXAMPLE)
class TokenSerializer(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    name = serializers.CharField()
    prefix = serializers.CharField(help_text="First characters of the secret.")
    scope = serializers.ChoiceField(Scope.choices)
    namespace = serializers.CharField(
        source="namespace.name",
        default=None,
        allow_null=True,
        help_text="Namespace it is limited to; null for all of its owner's.",
    )
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


@example({**TOKEN_EXAMPLE, "secret": "hpf_9TzXpJ4sQm2wLr8vBn6cHd1kFg3tYy5uxWqA01"})
class TokenSecretSerializer(TokenSerializer):
    secret = serializers.CharField(help_text="Shown once; the hub stores its hash only.")


@example({"name": "notebook", "scope": "write"})
class TokenIssueSerializer(Strict):
    name = serializers.CharField(max_length=100, help_text="Purpose of the token.")
    scope = serializers.ChoiceField(Scope.choices, default=Scope.READ)
    namespace = serializers.CharField(
        max_length=96, default=None, allow_null=True, help_text="Limit it to this namespace."
    )
    expires_at = serializers.DateTimeField(default=None, allow_null=True)


class TokensView(ApiView):
    sign_in_for = WRITES | {"GET"}

    @extend_schema(
        operation_id="token_list", parameters=[PageQuery], responses=page_of(TokenSerializer)
    )
    def get(self, request: Request) -> Response:
        """List your tokens, newest first, without their secrets."""
        query = query_of(request, PageQuery)
        return paged(tokens_of(signed_in(request)), TokenSerializer, query, name="token")

    @extend_schema(
        operation_id="token_issue",
        request=TokenIssueSerializer,
        responses={201: TokenSecretSerializer},
    )
    def post(self, request: Request) -> Response:
        """Create a token.

        A token has your permissions, limited to its scope and, if set, to its namespace.
        """
        user, body = signed_in(request), body_of(request, TokenIssueSerializer)
        if body["namespace"] is not None:
            body["namespace"] = namespace_get(user, body["namespace"])
        token, secret = token_issue(actor=user, **{**body, "scope": Scope(body["scope"])})
        answer = {**TokenSerializer(token).data, "secret": secret}
        return Response(answer, status=201, headers={"Cache-Control": "no-store"})


class TokenView(ApiView):
    @extend_schema(operation_id="token_revoke", responses={204: None})
    def delete(self, request: Request, uuid: UUID) -> Response:
        """Revoke one of your tokens, with immediate effect."""
        token_revoke(actor=signed_in(request), token_uuid=uuid)
        return Response(status=204)
