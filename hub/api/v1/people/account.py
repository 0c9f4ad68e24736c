"""The authenticated account, organisations and their members."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example, page_of
from hub.api.views import WRITES, ApiView, PageQuery, Strict, body_of, paged, query_of
from registry.selectors.people.account import members_of, namespace_get, namespaces_of, user_get
from registry.selectors.storage.quota import allowances, usage
from registry.services.people.account import member_remove, member_set, organisation_create
from registry.services.people.person import organisation_update, person_update
from registry.states import NamespaceKind, Role, Scope, Visibility
from registry.tables import User


@example({"name": "lab", "kind": "organisation", "role": "write"})
class NamespaceRoleSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="namespace.name")
    kind = serializers.ChoiceField(NamespaceKind.choices, source="namespace.kind")
    role = serializers.ChoiceField(Role.choices)


@example({"name": "models", "used": 12, "limit": 1000})
class QuotaSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Such as `bytes`, `models`, `jobs` or `run_seconds`.")
    used = serializers.IntegerField()
    limit = serializers.IntegerField(allow_null=True, help_text="`null`: unlimited.")


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
        "quotas": [
            {"name": "bytes", "used": 1_073_741_824, "limit": 107_374_182_400},
            {"name": "models", "used": 12, "limit": 1000},
        ],
    }
)
class WhoamiSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    full_name = serializers.CharField(allow_blank=True)
    email = serializers.CharField(allow_blank=True)
    orcid = serializers.CharField(allow_blank=True, help_text="The full address of an ORCID iD.")
    affiliation = serializers.CharField(allow_blank=True)
    affiliation_ror = serializers.CharField(
        allow_blank=True, help_text="The full address of a ROR id."
    )
    namespaces = NamespaceRoleSerializer(many=True)
    token = TokenInUseSerializer(allow_null=True)
    quotas = QuotaSerializer(many=True, help_text="Of the person and their own namespace.")


@example({"orcid": "0000-0002-1825-0097"})
class AccountChangeSerializer(Strict):
    """Your metadata in records; an empty text removes a value."""

    full_name = serializers.CharField(max_length=200, allow_blank=True, required=False)
    orcid = serializers.CharField(max_length=100, allow_blank=True, required=False)
    affiliation = serializers.CharField(max_length=200, allow_blank=True, required=False)
    affiliation_ror = serializers.CharField(max_length=100, allow_blank=True, required=False)


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
        "default_visibility": "public",
        "created_at": "2026-01-02T03:04:05Z",
    }
)
class NamespaceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(NamespaceKind.choices)
    title = serializers.CharField(allow_blank=True)
    ror = serializers.CharField(allow_blank=True, help_text="The full address of a ROR id.")
    default_visibility = serializers.ChoiceField(
        Visibility.choices, help_text="Visibility of new repositories whose creator chooses none."
    )
    created_at = serializers.DateTimeField()


@example({"ror": "https://ror.org/05gq02987"})
class OrganisationChangeSerializer(Strict):
    """Its metadata in records, where an empty text removes a value, and its defaults."""

    title = serializers.CharField(max_length=200, allow_blank=True, required=False)
    ror = serializers.CharField(max_length=100, allow_blank=True, required=False)
    default_visibility = serializers.ChoiceField(Visibility.choices, required=False)


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
        """Fetch the account that the token or session belongs to."""
        return Response(_whoami(signed_in(request)))

    @extend_schema(
        operation_id="account_change", request=AccountChangeSerializer, responses=WhoamiSerializer
    )
    def patch(self, request: Request) -> Response:
        """Change your metadata in records.

        Records have your name, your ORCID iD and your affiliation.
        """
        user = signed_in(request)
        person_update(actor=user, **body_of(request, AccountChangeSerializer))
        return Response(_whoami(user))


class OrganisationsView(ApiView):
    @extend_schema(
        operation_id="organisation_create",
        request=OrganisationCreateSerializer,
        responses={201: NamespaceSerializer},
    )
    def post(self, request: Request) -> Response:
        """Create an organisation, with you as its admin."""
        body = body_of(request, OrganisationCreateSerializer)
        organisation = organisation_create(actor=signed_in(request), **body)
        return Response(NamespaceSerializer(organisation).data, status=201)


class OrganisationView(ApiView):
    @extend_schema(operation_id="organisation_get", responses=NamespaceSerializer)
    def get(self, request: Request, organisation: str) -> Response:
        """Fetch an organisation, or a person's namespace."""
        return Response(NamespaceSerializer(namespace_get(request.user, organisation)).data)

    @extend_schema(
        operation_id="organisation_change",
        request=OrganisationChangeSerializer,
        responses=NamespaceSerializer,
    )
    def patch(self, request: Request, organisation: str) -> Response:
        """Change an organisation's metadata in records and its defaults; for its admins."""
        actor, body = signed_in(request), body_of(request, OrganisationChangeSerializer)
        namespace = namespace_get(actor, organisation)
        organisation_update(actor=actor, namespace=namespace, **body)
        return Response(NamespaceSerializer(namespace).data)


class MembersView(ApiView):
    sign_in_for = frozenset({"GET"})

    @extend_schema(
        operation_id="member_list", parameters=[PageQuery], responses=page_of(MemberSerializer)
    )
    def get(self, request: Request, organisation: str) -> Response:
        """List the members of an organisation; for its members."""
        query = query_of(request, PageQuery)
        members = members_of(request.user, namespace_get(request.user, organisation))
        return paged(members, MemberSerializer, query, name="member", order=("id",))


class MemberView(ApiView):
    @extend_schema(
        operation_id="member_set", request=MemberSetSerializer, responses=MemberSerializer
    )
    def put(self, request: Request, organisation: str, username: str) -> Response:
        """Set a person's role in an organisation; for its admins."""
        actor, body = signed_in(request), body_of(request, MemberSetSerializer)
        namespace = namespace_get(actor, organisation)
        membership = member_set(
            actor=actor, namespace=namespace, user=user_get(username), role=Role(body["role"])
        )
        return Response(MemberSerializer(membership).data)

    @extend_schema(operation_id="member_remove", responses={204: None})
    def delete(self, request: Request, organisation: str, username: str) -> Response:
        """End a membership; for admins of the organisation, and the person themselves."""
        actor = signed_in(request)
        namespace = namespace_get(actor, organisation)
        member_remove(actor=actor, namespace=namespace, user=user_get(username))
        return Response(status=204)


def _whoami(user: User) -> dict[str, Any]:
    """An account as JSON."""
    names = ("full_name", "email", "orcid", "affiliation", "affiliation_ror", "token")
    answer = {name: getattr(user, name) for name in names}
    own = namespace_get(user, user.username)
    room = usage(own)
    quotas = [{"name": "bytes", "used": room.used_bytes, "limit": room.quota_bytes}] + [
        {"name": one.what, "used": one.used, "limit": one.limit} for one in allowances(own)
    ]
    answer |= {"name": user.username, "namespaces": namespaces_of(user), "quotas": quotas}
    return dict(WhoamiSerializer(answer).data)
