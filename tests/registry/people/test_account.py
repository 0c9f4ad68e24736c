import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from registry.selectors.people.account import (
    members_of,
    namespace_get,
    namespaces_of,
    tokens_of,
    user_find,
    user_get,
    user_of_token,
)
from registry.services.people.account import (
    member_remove,
    member_set,
    organisation_create,
    user_create,
)
from registry.services.people.token import authenticate, token_issue, token_revoke
from registry.states import NamespaceKind, Role, Scope
from registry.tables import Namespace, Token, User
from tests.factories import PASSWORD, make_token, make_user, member


def code_of(secret: str) -> str:
    with pytest.raises(Unauthenticated) as caught:
        user_of_token(secret)
    return caught.value.code


def test_a_new_person_owns_a_namespace_of_their_name(alice: User) -> None:
    (own,) = namespaces_of(alice)
    assert (own.namespace.name, own.namespace.kind, own.role) == ("alice", "user", "admin")
    assert alice.check_password(PASSWORD)
    assert user_get("ALICE") == alice


@pytest.mark.parametrize("name", ["alice", "ALICE", "lab", "Lab"])
def test_a_name_is_taken_once_in_any_case(alice: User, lab: Namespace, name: str) -> None:
    with pytest.raises(Conflict, match="taken"):
        make_user(name)
    with pytest.raises(Conflict, match="taken"):
        organisation_create(actor=alice, name=name)
    assert User.objects.count() == 2
    assert Namespace.objects.count() == 3


@pytest.mark.parametrize(
    ("given_columns", "field"),
    [
        ({"password": "short"}, "password"),
        ({"password": "password123"}, "password"),
        ({"email": "nowhere"}, "email"),
        ({"full_name": "x" * 201}, "full_name"),
        ({"full_name": "a\0b"}, "full_name"),
    ],
)
def test_an_account_with_a_fault_is_refused_by_its_field(
    db: None, given_columns: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as caught:
        user_create(**{"username": "alice", "password": PASSWORD} | given_columns)
    assert field in caught.value.fields
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["api", "Models", "a b", "..", "a--b", "", "x" * 97])
def test_a_name_that_would_hide_a_page_is_refused(db: None, name: str) -> None:
    with pytest.raises(Invalid) as caught:
        make_user(name)
    assert caught.value.code == "invalid_name"


@pytest.mark.parametrize("name", ["nobody", "no body", "", "a\0b", "é"])
def test_people_and_namespaces_that_are_not_there_are_not_found(alice: User, name: str) -> None:
    assert user_find(name) is None
    with pytest.raises(NotFound):
        user_get(name)
    with pytest.raises(NotFound) as caught:
        namespace_get(alice, name)
    assert caught.value.code == "namespace_not_found"


def test_an_organisation_is_no_person(lab: Namespace) -> None:
    assert user_find("lab") is None
    assert namespace_get(None, "LAB").kind == NamespaceKind.ORGANISATION


def test_a_token_is_its_owner_and_only_its_hash_is_kept(alice: User) -> None:
    token, secret = token_issue(actor=alice, name="notebook", scope=Scope.READ)
    assert re.fullmatch(r"hpf_[0-9A-Za-z]{38}", secret)
    found = user_of_token(secret)
    assert (found, found.token) == (alice, token)
    assert alice.token is None
    kept = Token.objects.values().get()
    assert secret not in str(kept)
    assert secret.startswith(kept["prefix"])
    assert list(tokens_of(alice)) == [token]


@given(st.text(max_size=60) | st.from_regex(r"\Ahpf_[0-9A-Za-z]{38}\Z"))
def test_a_made_up_secret_is_refused_without_a_query(secret: str) -> None:
    # No database is open here, so asking it would fail.
    assert code_of(secret) == "token_invalid"


def test_a_secret_of_the_right_form_that_nobody_issued_is_refused(alice: User) -> None:
    secret = make_token(alice)
    Token.objects.all().delete()
    assert code_of(secret) == "token_invalid"


def test_a_revoked_token_is_refused(alice: User) -> None:
    token, secret = token_issue(actor=alice, name="notebook", scope=Scope.READ)
    token_revoke(actor=alice, token_uuid=token.uuid)
    assert code_of(secret) == "token_revoked"
    assert not tokens_of(alice).exists()


def test_an_expired_token_is_refused(alice: User) -> None:
    end = timezone.now() + timedelta(hours=1)
    token, secret = token_issue(actor=alice, name="brief", scope=Scope.READ, expires_at=end)
    assert user_of_token(secret) == alice
    Token.objects.filter(pk=token.pk).update(expires_at=timezone.now())
    assert code_of(secret) == "token_expired"


@pytest.mark.parametrize("uuid", ["", "nonsense", "00000000-0000-0000-0000-000000000000"])
def test_a_token_that_is_not_ones_own_cannot_be_revoked(alice: User, bob: User, uuid: str) -> None:
    token, secret = token_issue(actor=alice, name="notebook", scope=Scope.READ)
    for wrong in (uuid, token.uuid):
        with pytest.raises(NotFound):
            token_revoke(actor=bob, token_uuid=wrong)
    assert user_of_token(secret) == alice


def test_a_token_of_any_scope_may_end_itself_and_no_other(alice: User) -> None:
    other, _ = token_issue(actor=alice, name="other", scope=Scope.READ)
    secret = make_token(alice, Scope.READ)
    itself = user_of_token(secret)
    with pytest.raises(Forbidden):
        token_revoke(actor=itself, token_uuid=other.uuid)
    assert itself.token is not None
    token_revoke(actor=itself, token_uuid=itself.token.uuid)
    assert code_of(secret) == "token_revoked"


def test_a_token_cannot_make_a_stronger_or_longer_one(alice: User) -> None:
    for scope in (Scope.READ, Scope.WRITE):
        with pytest.raises(Forbidden) as caught:
            token_issue(actor=user_of_token(make_token(alice, scope)), name="x", scope=Scope.READ)
        assert caught.value.code == "scope_missing"
    limited = make_token(alice, Scope.ADMIN, namespace=namespace_get(alice, "alice"))
    with pytest.raises(Forbidden):
        token_issue(actor=user_of_token(limited), name="x", scope=Scope.READ)
    end = timezone.now() + timedelta(hours=1)
    _, brief = token_issue(actor=alice, name="brief", scope=Scope.ADMIN, expires_at=end)
    for later in (None, end + timedelta(seconds=1)):
        with pytest.raises(Forbidden, match="outlives"):
            token_issue(actor=user_of_token(brief), name="x", scope=Scope.READ, expires_at=later)
    token_issue(actor=user_of_token(brief), name="x", scope=Scope.READ, expires_at=end)


def test_a_token_cannot_be_limited_to_somebody_elses_namespace(bob: User, lab: Namespace) -> None:
    with pytest.raises(Forbidden):
        make_token(bob, namespace=lab)


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb"])
def test_a_token_needs_a_name_one_can_read(alice: User, name: str) -> None:
    with pytest.raises(Invalid):
        token_issue(actor=alice, name=name, scope=Scope.READ)


def test_a_token_that_ends_in_the_past_is_refused(alice: User) -> None:
    with pytest.raises(Invalid):
        token_issue(actor=alice, name="x", scope=Scope.READ, expires_at=timezone.now())


def test_use_of_a_token_is_noted_at_most_once_a_minute(alice: User) -> None:
    secret = make_token(alice)

    def noted() -> object:
        return Token.objects.get().last_used_at

    assert authenticate(secret=secret) == alice
    first = noted()
    assert first is not None
    authenticate(secret=secret)
    assert noted() == first
    Token.objects.update(last_used_at=timezone.now() - timedelta(seconds=61))
    authenticate(secret=secret)
    assert noted() > first  # type: ignore[operator]


def test_an_admin_gives_and_takes_roles(lab: Namespace, charlie: User, bob: User) -> None:
    member_set(actor=charlie, namespace=lab, user=bob, role=Role.READ)
    member_set(actor=charlie, namespace=lab, user=bob, role=Role.WRITE)
    assert [(m.user, m.role) for m in members_of(bob, lab)] == [
        (charlie, "admin"),
        (bob, "write"),
    ]
    member_remove(actor=charlie, namespace=lab, user=bob)
    with pytest.raises(Forbidden):
        members_of(bob, lab)
    with pytest.raises(NotFound):
        member_remove(actor=charlie, namespace=lab, user=bob)


@pytest.mark.parametrize("role", [None, Role.READ, Role.WRITE])
def test_only_an_admin_gives_and_takes_roles(
    lab: Namespace, charlie: User, alice: User, bob: User, role: Role | None
) -> None:
    if role:
        member_set(actor=charlie, namespace=lab, user=bob, role=role)
    with pytest.raises(Forbidden):
        member_set(actor=bob, namespace=lab, user=bob, role=Role.ADMIN)
    with pytest.raises(Forbidden):
        member_remove(actor=bob, namespace=lab, user=charlie)


def test_a_member_may_leave_but_not_with_a_weak_token(
    lab: Namespace, charlie: User, bob: User
) -> None:
    member_set(actor=charlie, namespace=lab, user=bob, role=Role.READ)
    with pytest.raises(Forbidden):
        member_remove(actor=user_of_token(make_token(bob)), namespace=lab, user=bob)
    member_remove(actor=bob, namespace=lab, user=bob)
    assert [m.user for m in members_of(charlie, lab)] == [charlie]


def test_the_last_admin_stays(lab: Namespace, charlie: User, bob: User) -> None:
    for act in (
        lambda: member_remove(actor=charlie, namespace=lab, user=charlie),
        lambda: member_set(actor=charlie, namespace=lab, user=charlie, role=Role.WRITE),
    ):
        with pytest.raises(Conflict) as caught:
            act()
        assert caught.value.code == "last_admin"
    member_set(actor=charlie, namespace=lab, user=bob, role=Role.ADMIN)
    member_remove(actor=charlie, namespace=lab, user=charlie)
    assert [m.user for m in members_of(bob, lab)] == [bob]


def test_a_personal_namespace_takes_no_members(alice: User, bob: User) -> None:
    own = namespace_get(alice, "alice")
    for act in (
        lambda: member_set(actor=alice, namespace=own, user=bob, role=Role.READ),
        lambda: member_remove(actor=alice, namespace=own, user=alice),
    ):
        with pytest.raises(Invalid):
            act()


def test_a_limited_token_shows_only_its_namespace(lab: Namespace, charlie: User) -> None:
    assert [m.namespace.name for m in namespaces_of(member("charlie"))] == ["charlie", "lab"]
    limited = user_of_token(make_token(charlie, namespace=lab))
    assert [m.namespace.name for m in namespaces_of(limited)] == ["lab"]
