"""People, their tokens, organisations."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example, page_of
from hub.api.views import WRITES, ApiView, PageQuery, Strict, body_of, paged, query_of
from registry.selectors.people.account import (
    members_of,
    namespace_get,
    namespaces_of,
    tokens_of,
    user_get,
)
from registry.services.people.account import member_remove, member_set, organisation_create
from registry.services.people.person import organisation_update, person_update
from registry.services.people.token import token_issue, token_revoke
from registry.states import NamespaceKind, Role, Scope
from registry.tables import User


@example({"name": "lab", "kind": "organisation", "role": "write"})
class NamespaceRoleSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="namespace.name")
    kind = serializers.ChoiceField(NamespaceKind.choices, source="namespace.kind")
    role = serializers.ChoiceField(Role.choices)


@example({"name": "notebook", "scope": "write", "expires_at": None})
class TokenInUseSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    scope = serializers.ChoiceField(Scope.choices)
    expires_at = serializers.DateTimeField(allow_null=True)


@example(
    {
        "name": "alice",
        "full_name": "Alice Adams",
        "email": "alice@example.org",
        "orcid": "https://orcid.org/0000-0002-1825-0097",
        "affiliation": "Brown University",
        "affiliation_ror": "https://ror.org/05gq02987",
        "namespaces": [{"name": "alice", "kind": "user", "role": "admin"}],
        "token": {"name": "notebook", "scope": "write", "expires_at": None},
    }
)
class WhoamiSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    full_name = serializers.CharField(allow_blank=True)
    email = serializers.CharField(allow_blank=True)
    orcid = serializers.CharField(allow_blank=True, help_text="The full address of an ORCID iD.")
    affiliation = serializers.CharField(allow_blank=True)
    affiliation_ror = serializers.CharField(allow_blank=True, help_text="Of a ROR id.")
    namespaces = NamespaceRoleSerializer(many=True)
    token = TokenInUseSerializer(allow_null=True)


@example({"orcid": "0000-0002-1825-0097"})
class AccountChangeSerializer(Strict):
    """What records say of you; an empty text takes a value away."""

    full_name = serializers.CharField(max_length=200, allow_blank=True, required=False)
    orcid = serializers.CharField(max_length=100, allow_blank=True, required=False)
    affiliation = serializers.CharField(max_length=200, allow_blank=True, required=False)
    affiliation_ror = serializers.CharField(max_length=100, allow_blank=True, required=False)


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
    prefix = serializers.CharField(help_text="How the secret begins.")
    scope = serializers.ChoiceField(Scope.choices)
    namespace = serializers.CharField(
        source="namespace.name",
        default=None,
        allow_null=True,
        help_text="The one namespace it is limited to; null for all of its owner's.",
    )
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


@example({**TOKEN_EXAMPLE, "secret": "hpf_9TzXpJ4sQm2wLr8vBn6cHd1kFg3tYy5uxWqA01"})
class TokenSecretSerializer(TokenSerializer):
    secret = serializers.CharField(help_text="Shown once; the hub keeps only its hash.")


@example({"name": "notebook", "scope": "write"})
class TokenIssueSerializer(Strict):
    name = serializers.CharField(max_length=100, help_text="What it is for.")
    scope = serializers.ChoiceField(Scope.choices, default=Scope.READ)
    namespace = serializers.CharField(
        max_length=96, default=None, allow_null=True, help_text="Limit it to this namespace."
    )
    expires_at = serializers.DateTimeField(default=None, allow_null=True)


@example({"name": "lab", "title": "Galaxy Lab"})
class OrganisationCreateSerializer(Strict):
    name = serializers.CharField(max_length=96)
    title = serializers.CharField(max_length=200, default="", allow_blank=True)


@example(
    {
        "name": "lab",
        "kind": "organisation",
        "title": "Galaxy Lab",
        "ror": "https://ror.org/05gq02987",
        "created_at": "2026-01-02T03:04:05Z",
    }
)
class NamespaceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(NamespaceKind.choices)
    title = serializers.CharField(allow_blank=True)
    ror = serializers.CharField(allow_blank=True, help_text="The full address of a ROR id.")
    created_at = serializers.DateTimeField()


@example({"ror": "https://ror.org/05gq02987"})
class OrganisationChangeSerializer(Strict):
    """What records say of it; an empty text takes a value away."""

    title = serializers.CharField(max_length=200, allow_blank=True, required=False)
    ror = serializers.CharField(max_length=100, allow_blank=True, required=False)


@example({"name": "alice", "role": "admin"})
class MemberSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Role.choices)


@example({"role": "write"})
class MemberSetSerializer(Strict):
    role = serializers.ChoiceField(Role.choices)


class WhoamiView(ApiView):
    sign_in_for = WRITES | {"GET"}

    @extend_schema(operation_id="whoami", responses=WhoamiSerializer)
    def get(self, request: Request) -> Response:
        """Tell who the token or the session belongs to."""
        return Response(_whoami(signed_in(request)))

    @extend_schema(
        operation_id="account_change", request=AccountChangeSerializer, responses=WhoamiSerializer
    )
    def patch(self, request: Request) -> Response:
        """Change what records say of you.

        Records name you by your ORCID iD and say where you work.
        """
        user = signed_in(request)
        person_update(actor=user, **body_of(request, AccountChangeSerializer))
        return Response(_whoami(user))


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
        """Make a token.

        A token can do what you can, cut down to its scope and, if it names one, its namespace.
        """
        user, asked = signed_in(request), body_of(request, TokenIssueSerializer)
        if asked["namespace"] is not None:
            asked["namespace"] = namespace_get(user, asked["namespace"])
        token, secret = token_issue(actor=user, **{**asked, "scope": Scope(asked["scope"])})
        answer = {**TokenSerializer(token).data, "secret": secret}
        return Response(answer, status=201, headers={"Cache-Control": "no-store"})


class TokenView(ApiView):
    @extend_schema(operation_id="token_revoke", responses={204: None})
    def delete(self, request: Request, uuid: UUID) -> Response:
        """Revoke one of your tokens; it stops working at once."""
        token_revoke(actor=signed_in(request), token_uuid=uuid)
        return Response(status=204)


class OrganisationsView(ApiView):
    @extend_schema(
        operation_id="organisation_create",
        request=OrganisationCreateSerializer,
        responses={201: NamespaceSerializer},
    )
    def post(self, request: Request) -> Response:
        """Make an organisation, with you as its admin."""
        asked = body_of(request, OrganisationCreateSerializer)
        made = organisation_create(actor=signed_in(request), **asked)
        return Response(NamespaceSerializer(made).data, status=201)


class OrganisationView(ApiView):
    @extend_schema(operation_id="organisation_get", responses=NamespaceSerializer)
    def get(self, request: Request, organisation: str) -> Response:
        """Tell about an organisation, or a person's namespace."""
        return Response(NamespaceSerializer(namespace_get(request.user, organisation)).data)

    @extend_schema(
        operation_id="organisation_change",
        request=OrganisationChangeSerializer,
        responses=NamespaceSerializer,
    )
    def patch(self, request: Request, organisation: str) -> Response:
        """Change what records say of an organisation; its admins may."""
        actor, asked = signed_in(request), body_of(request, OrganisationChangeSerializer)
        namespace = namespace_get(actor, organisation)
        organisation_update(actor=actor, namespace=namespace, **asked)
        return Response(NamespaceSerializer(namespace).data)


class MembersView(ApiView):
    sign_in_for = frozenset({"GET"})

    @extend_schema(
        operation_id="member_list", parameters=[PageQuery], responses=page_of(MemberSerializer)
    )
    def get(self, request: Request, organisation: str) -> Response:
        """List who belongs to an organisation; its members may."""
        query = query_of(request, PageQuery)
        members = members_of(request.user, namespace_get(request.user, organisation))
        return paged(members, MemberSerializer, query, name="member", order=("id",))


class MemberView(ApiView):
    @extend_schema(
        operation_id="member_set", request=MemberSetSerializer, responses=MemberSerializer
    )
    def put(self, request: Request, organisation: str, username: str) -> Response:
        """Give a person a role in an organisation; its admins may."""
        actor, asked = signed_in(request), body_of(request, MemberSetSerializer)
        namespace = namespace_get(actor, organisation)
        membership = member_set(
            actor=actor,
            namespace=namespace,
            user=user_get(username),
            role=Role(asked["role"]),
        )
        return Response(MemberSerializer(membership).data)

    @extend_schema(operation_id="member_remove", responses={204: None})
    def delete(self, request: Request, organisation: str, username: str) -> Response:
        """End a person's membership; its admins may, and everybody their own."""
        actor = signed_in(request)
        namespace = namespace_get(actor, organisation)
        member_remove(actor=actor, namespace=namespace, user=user_get(username))
        return Response(status=204)


def _whoami(user: User) -> dict[str, Any]:
    """Who somebody is, as JSON."""
    told = ("full_name", "email", "orcid", "affiliation", "affiliation_ror", "token")
    answer = {name: getattr(user, name) for name in told}
    answer |= {"name": user.username, "namespaces": namespaces_of(user)}
    return dict(WhoamiSerializer(answer).data)
