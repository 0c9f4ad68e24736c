"""Organisations change hands and end, and operators care for accounts."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from registry.selectors.people.account import (
    members_of,
    namespace_get,
    user_find,
    user_of_token,
    users_by_email,
)
from registry.services.people.account import (
    credentials_set,
    member_set,
    organisation_create,
    staff_set,
    user_enable,
)
from registry.services.people.organisation import organisation_delete, organisation_transfer
from registry.services.storage.quota import quota_check_models
from registry.states import Role, Scope
from registry.tables import AuditEntry, MLModel, Namespace, User
from tests.factories import PASSWORD, make_token, make_user, member


def roles(namespace: Namespace) -> dict[str, str]:
    return {row.user.username: str(row.role) for row in members_of(None, namespace)}


def test_a_transfer_leaves_no_moment_without_an_admin(
    lab: Namespace, charlie: User, alice: User
) -> None:
    organisation_transfer(actor=charlie, namespace=lab, user=alice)
    assert roles(lab) == {"charlie": "write", "alice": "admin"}
    entry = AuditEntry.objects.get(action="organisation.transfer")
    assert (entry.subject, entry.detail) == ("lab", {"to": "alice"})


def test_only_admins_transfer_and_only_organisations(
    lab: Namespace, charlie: User, alice: User
) -> None:
    member_set(actor=charlie, namespace=lab, user=alice, role=Role.WRITE)
    with pytest.raises(Forbidden):
        organisation_transfer(actor=alice, namespace=lab, user=alice)
    with pytest.raises(Invalid, match="admin already"):
        organisation_transfer(actor=charlie, namespace=lab, user=charlie)
    own = namespace_get(None, "charlie")
    for act in (
        lambda: organisation_transfer(actor=charlie, namespace=own, user=alice),
        lambda: organisation_delete(actor=charlie, namespace=own),
    ):
        with pytest.raises(Invalid, match="person's namespace"):
            act()


def test_a_deleted_organisation_takes_its_name_along(lab: Namespace, charlie: User) -> None:
    secret = make_token(charlie, Scope.ADMIN, namespace=lab)
    organisation_delete(actor=charlie, namespace=namespace_get(charlie, "lab"))
    with pytest.raises(NotFound):
        namespace_get(None, "lab")
    with pytest.raises(Unauthenticated):
        user_of_token(secret)
    for name in ("lab", "LAB"):
        with pytest.raises(Conflict, match="was deleted"):
            organisation_create(actor=charlie, name=name)
        with pytest.raises(Conflict, match="was deleted"):
            make_user(name)
    # What was about to be created in it meets no row.
    with pytest.raises(NotFound):
        quota_check_models(lab)


def test_one_that_owns_models_is_not_deleted(
    galaxy: MLModel, lab: Namespace, charlie: User, alice: User
) -> None:
    with pytest.raises(Conflict) as caught:
        organisation_delete(actor=charlie, namespace=lab)
    assert caught.value.code == "organisation_not_empty"
    with pytest.raises(Forbidden):
        organisation_delete(actor=alice, namespace=lab)
    assert Namespace.objects.filter(name="lab").exists()


def test_people_are_found_by_their_address_in_any_case(alice: User, bob: User) -> None:
    make_user("alice2", email="Alice@Example.org")
    names = [user.username for user in users_by_email("ALICE@example.org")]
    assert names == ["alice", "alice2"]
    assert users_by_email("alice@example.com") == []


def test_an_address_is_looked_up_by_an_index(alice: User) -> None:
    with CaptureQueriesContext(connection) as queries:
        users_by_email("alice@example.org")
    (query,) = (one["sql"] for one in queries)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # The planner walks through a table of one page.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN {query}")
        else:
            cursor.execute(f"EXPLAIN QUERY PLAN {query}")
        assert "user_email" in str(cursor.fetchall())


def test_credentials_are_checked_before_anything_changes(alice: User) -> None:
    with pytest.raises(Invalid) as caught:
        credentials_set(actor=alice, email="a@example.net", password="alice")
    assert "password" in caught.value.fields
    with pytest.raises(Invalid) as caught:
        credentials_set(actor=alice, email="nowhere")
    assert "email" in caught.value.fields
    assert (member("alice").email, member("alice").check_password(PASSWORD)) == (
        "alice@example.org",
        True,
    )


def test_operators_are_made_by_operators(alice: User, bob: User) -> None:
    with pytest.raises(Forbidden, match="Only operators"):
        staff_set(actor=alice, user=alice, is_staff=True)
    staff_set(actor=None, user=alice, is_staff=True)
    staff_set(actor=member("alice"), user=bob, is_staff=True)
    staff_set(actor=None, user=alice, is_staff=False)
    assert (member("alice").is_staff, member("bob").is_staff) == (False, True)
    assert AuditEntry.objects.filter(action="user.staff").count() == 3


def test_a_disabled_account_can_do_nothing_and_loses_nothing(alice: User, bob: User) -> None:
    secret = make_token(alice)
    staff_set(actor=None, user=bob, is_staff=True)
    user_enable(actor=bob, user=alice, enabled=False)
    with pytest.raises(Unauthenticated):
        user_of_token(secret)
    user_enable(actor=bob, user=alice, enabled=True)
    assert user_of_token(secret).username == "alice"
    with pytest.raises(Invalid, match="your own account"):
        user_enable(actor=bob, user=bob, enabled=False)
    with pytest.raises(Forbidden):
        user_enable(actor=user_find("alice"), user=bob, enabled=False)
    actions = AuditEntry.objects.filter(action__startswith="user.").values_list("action", flat=True)
    assert {"user.disable", "user.enable"} <= set(actions)
