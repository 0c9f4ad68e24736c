"""Organisations in the browser: from their creation to their end."""

import pytest
from django.test import Client

from registry.selectors.people.account import members_of
from registry.services.people.account import member_set
from registry.states import Role
from registry.tables import MLModel, Namespace, User
from tests.hub.pages.test_reading import text

pytestmark = pytest.mark.django_db

PAGE = "/settings/organisations"


def roles(namespace: str) -> dict[str, str]:
    rows = members_of(None, Namespace.objects.get(name=namespace))
    return {row.user.username: str(row.role) for row in rows}


def change(client: Client, username: str, role: str, organisation: str = "lab") -> str:
    """The page after a change of a member."""
    values = {"username": username, "role": role}
    answer = client.post(f"{PAGE}/{organisation}/members", values, follow=True)
    return answer.content.decode()


def test_a_person_makes_an_organisation_and_adds_members(
    client: Client, alice: User, bob: User
) -> None:
    client.force_login(alice)
    assert "None yet" in text(client, PAGE)
    answer = client.post(PAGE, {"name": "crew", "title": "The Crew"})
    assert answer.headers["Location"] == f"{PAGE}/crew"
    assert "The Crew" in text(client, PAGE)
    assert "bob has the role write." in change(client, "bob", "write", "crew")
    assert roles("crew") == {"alice": "admin", "bob": "write"}
    assert f"{PAGE}/crew" in text(client, "/crew")
    assert "bob has the role read." in change(client, "bob", "read", "crew")
    assert "bob is no longer a member." in change(client, "bob", "remove", "crew")
    assert roles("crew") == {"alice": "admin"}


@pytest.mark.parametrize(
    ("name", "message"), [("lab", "taken"), ("api", "address of the hub"), ("a b", "not a valid")]
)
def test_a_name_that_cannot_be_is_refused_beside_its_field(
    client: Client, alice: User, lab: Namespace, name: str, message: str
) -> None:
    client.force_login(alice)
    answer = client.post(PAGE, {"name": name, "title": ""})
    assert answer.status_code == 400
    assert message in answer.content.decode()


@pytest.mark.parametrize(
    ("username", "role", "message"),
    [
        ("nobody", "read", "There is no person"),
        ("alice", "owner", "is no role"),
        ("alice", "remove", "is no member"),
        ("charlie", "write", "the only admin"),
        ("charlie", "remove", "the only admin"),
    ],
)
def test_a_change_that_cannot_be_is_told(
    client: Client, lab: Namespace, charlie: User, alice: User,
    username: str, role: str, message: str,
) -> None:  # fmt: skip
    client.force_login(charlie)
    assert message in change(client, username, role)
    assert roles("lab") == {"charlie": "admin"}


def test_members_see_who_belongs_to_it_and_change_nothing(
    client: Client, lab: Namespace, charlie: User, alice: User, bob: User
) -> None:
    member_set(actor=charlie, namespace=lab, user=bob, role=Role.WRITE)
    assert client.get(f"{PAGE}/lab").headers["Location"].startswith("/login")
    client.force_login(alice)
    assert text(client, f"{PAGE}/lab", 403)
    client.force_login(bob)
    page = text(client, f"{PAGE}/lab")
    assert "charlie" in page
    assert "Add a member" not in page
    for place in ("members", "transfer", "delete"):
        values = {"username": "bob", "role": "admin", "confirm": "lab"}
        assert client.post(f"{PAGE}/lab/{place}", values).status_code == 403
        assert client.get(f"{PAGE}/lab/{place}").status_code == 405
    assert roles("lab") == {"charlie": "admin", "bob": "write"}
    # A person's own namespace is no organisation.
    assert client.get(f"{PAGE}/bob").status_code == 404


def test_members_leave_but_not_the_only_admin(
    client: Client, lab: Namespace, charlie: User, bob: User
) -> None:
    member_set(actor=charlie, namespace=lab, user=bob, role=Role.WRITE)
    client.force_login(bob)
    left = client.post(f"{PAGE}/lab/leave", follow=True)
    assert "You left lab." in left.content.decode()
    client.force_login(charlie)
    stayed = client.post(f"{PAGE}/lab/leave", follow=True)
    assert "the only admin" in stayed.content.decode()
    assert roles("lab") == {"charlie": "admin"}


def test_an_admin_who_removes_themselves_arrives_where_they_may_be(
    client: Client, lab: Namespace, charlie: User, bob: User
) -> None:
    member_set(actor=charlie, namespace=lab, user=bob, role=Role.ADMIN)
    client.force_login(bob)
    assert "bob is no longer a member." in change(client, "bob", "remove")


def test_it_changes_hands(client: Client, lab: Namespace, charlie: User, bob: User) -> None:
    client.force_login(charlie)
    page = client.post(f"{PAGE}/lab/transfer", {"username": "bob"}, follow=True)
    assert "bob is now an admin" in page.content.decode()
    assert roles("lab") == {"charlie": "write", "bob": "admin"}
    assert client.post(f"{PAGE}/lab/transfer", {"username": "charlie"}).status_code == 403


def test_one_that_owns_nothing_is_deleted_after_its_name_was_typed(
    client: Client, lab: Namespace, charlie: User
) -> None:
    client.force_login(charlie)
    page = client.post(f"{PAGE}/lab/delete", {"confirm": "labs"}, follow=True)
    assert "Type lab to delete it." in page.content.decode()
    page = client.post(f"{PAGE}/lab/delete", {"confirm": "lab"}, follow=True)
    assert "lab is deleted." in page.content.decode()
    assert client.get("/lab").status_code == 404


def test_one_that_owns_models_is_not(client: Client, galaxy: MLModel, charlie: User) -> None:
    client.force_login(charlie)
    assert "It owns models or data sets." in text(client, f"{PAGE}/lab")
    page = client.post(f"{PAGE}/lab/delete", {"confirm": "lab"}, follow=True)
    assert "lab owns 1 models and data sets." in page.content.decode()
    assert client.get("/lab").status_code == 200
