"""Tokens and organisations over HTTP."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry.states import Scope
from registry.tables import Namespace, Token, User
from tests.hub.api.client import Api


@pytest.fixture
def admin(alice: User) -> Api:
    return Api(alice, Scope.ADMIN)


def test_a_token_shows_its_secret_once(admin: Api) -> None:
    answer = admin.post("tokens", {"name": "notebook", "scope": "write"})
    made = answer.ok(201)
    assert made["secret"].startswith(made["prefix"])
    assert answer.headers["Cache-Control"] == "no-store"
    assert Api(secret=made["secret"]).get("whoami").ok()["token"]["name"] == "notebook"
    listed = admin.get("tokens").ok()["items"]
    assert [token["name"] for token in listed] == ["notebook", "admin token"]
    assert all("secret" not in token and "digest" not in token for token in listed)


def test_a_token_can_be_limited_in_place_and_time(admin: Api) -> None:
    end = (timezone.now() + timedelta(days=1)).isoformat()
    asked = {"name": "ci", "scope": "read", "namespace": "alice", "expires_at": end}
    made = admin.post("tokens", asked).ok(201)
    assert made["namespace"] == "alice"
    assert made["expires_at"][:19] == end[:19]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "x", "scope": "everything"}, "scope"),
        ({"name": "x" * 101}, "name"),
        ({"name": "x", "expires_at": "tomorrow"}, "expires_at"),
        ({"name": "x", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"name": "x", "owner": "bob"}, "owner"),
    ],
)
def test_a_token_that_makes_no_sense_is_refused(
    admin: Api, body: dict[str, str], field: str
) -> None:
    answer = admin.post("tokens", body)
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert list(answer.json["fields"]) == [field]


def test_a_token_can_be_revoked_once(admin: Api) -> None:
    made = admin.post("tokens", {"name": "old"}).ok(201)
    assert admin.delete(f"tokens/{made['uuid']}").status == 204
    assert Api(secret=made["secret"]).get("whoami").code == "token_revoked"
    assert admin.delete(f"tokens/{made['uuid']}").code == "token_not_found"


def test_nobody_revokes_another_persons_token(admin: Api, bob: User) -> None:
    other = Api(bob)
    token = Token.objects.get(user=bob)
    assert admin.delete(f"tokens/{token.uuid}").code == "token_not_found"
    assert other.get("whoami").status == 200


def test_an_organisation_has_its_maker_as_admin(admin: Api) -> None:
    made = admin.post("organisations", {"name": "lab", "title": "The Lab"}).ok(201)
    assert (made["kind"], made["title"]) == ("organisation", "The Lab")
    assert admin.get("organisations/LAB").ok() == made
    members = admin.get("organisations/lab/members").ok()["items"]
    assert members == [{"name": "alice", "role": "admin"}]


def test_members_come_and_go(admin: Api, bob: User) -> None:
    admin.post("organisations", {"name": "lab"}).ok(201)
    assert admin.put("organisations/lab/members/bob", {"role": "read"}).ok()["role"] == "read"
    assert admin.put("organisations/lab/members/bob", {"role": "write"}).ok()["role"] == "write"
    assert Api(bob).get("organisations/lab/members").ok()["items"][1]["name"] == "bob"
    assert admin.delete("organisations/lab/members/bob").status == 204
    assert Api(bob).get("organisations/lab/members").code == "permission_denied"
    assert admin.delete("organisations/lab/members/bob").code == "user_not_found"


def test_an_organisation_keeps_an_admin(admin: Api) -> None:
    admin.post("organisations", {"name": "lab"}).ok(201)
    answer = admin.delete("organisations/lab/members/alice")
    assert (answer.status, answer.code) == (409, "last_admin")


def test_only_admins_change_members(admin: Api, lab: Namespace, bob: User) -> None:
    assert admin.put("organisations/lab/members/bob", {"role": "read"}).code == "permission_denied"


def test_a_taken_or_unknown_name_says_so(admin: Api, lab: Namespace) -> None:
    assert admin.post("organisations", {"name": "LAB"}).code == "namespace_taken"
    assert admin.post("organisations", {"name": "api"}).code == "invalid_name"
    assert admin.get("organisations/nobody").code == "namespace_not_found"
    assert admin.put("organisations/lab/members/nobody", {"role": "read"}).code == "user_not_found"
