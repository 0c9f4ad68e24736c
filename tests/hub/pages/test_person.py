"""Profiles: what records say of people and organisations, in the browser."""

import pytest
from django.test import Client

from registry.services.people.account import member_set
from registry.states import Role
from registry.tables import Namespace, User
from tests.hub.pages.test_reading import text

pytestmark = pytest.mark.django_db

PAGE = "/settings/profile"
ORCID, ROR = "https://orcid.org/0000-0002-1825-0097", "https://ror.org/05gq02987"
FORM = {
    "full_name": "Alice B. Adams",
    "orcid": "0000-0002-1825-0097",
    "affiliation": "Brown University",
    "affiliation_ror": "05gq02987",
}


def test_a_person_says_who_they_are_and_everybody_reads_it(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.post(PAGE, FORM)["Location"] == PAGE
    page = text(client, PAGE)
    assert "Saved." in page
    assert f'value="{ORCID}"' in page
    assert f'value="{ROR}"' in page
    client.logout()
    page = text(client, "/alice")
    assert f'href="{ORCID}"' in page
    assert f'href="{ROR}"' in page
    assert "Alice B. Adams" in page
    assert "Brown University" in page


def test_a_value_is_taken_away_again(client: Client, alice: User) -> None:
    client.force_login(alice)
    client.post(PAGE, FORM)
    client.post(PAGE, FORM | {"orcid": " ", "affiliation": ""})
    alice.refresh_from_db()
    assert (alice.orcid, alice.affiliation, alice.affiliation_ror) == ("", "", ROR)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("orcid", "0000-0002-1825-0098", "the iD is 0000-0002-1825-0097"),
        ("orcid", "josiah", "is not an ORCID iD"),
        ("affiliation_ror", "https://ror.org/05gq02988", "the id is https://ror.org/05gq02987"),
        ("full_name", "A\x07", "control character"),
        ("affiliation", "x" * 201, "at most 200 characters"),
    ],
)
def test_what_cannot_be_right_is_told_beside_its_field(
    client: Client, alice: User, field: str, value: str, said: str
) -> None:
    client.force_login(alice)
    answer = client.post(PAGE, FORM | {field: value})
    assert answer.status_code == 400
    assert said in answer.content.decode()
    alice.refresh_from_db()
    assert (alice.full_name, alice.orcid) == ("Alice Adams", "")


def test_admins_say_who_their_organisation_is(
    client: Client, lab: Namespace, charlie: User
) -> None:
    client.force_login(charlie)
    assert 'name="lab-ror"' in text(client, PAGE)
    client.post(f"{PAGE}/lab", {"lab-title": "The Lab", "lab-ror": "05gq02987"})
    lab.refresh_from_db()
    assert (lab.title, lab.ror) == ("The Lab", ROR)
    assert f'href="{ROR}"' in text(client, "/lab")
    answer = client.post(f"{PAGE}/lab", {"lab-title": "The Lab", "lab-ror": "05gq02988"})
    assert answer.status_code == 400
    assert "check digits" in answer.content.decode()


def test_nobody_else_may(client: Client, lab: Namespace, charlie: User, bob: User) -> None:
    member_set(actor=charlie, namespace=lab, user=bob, role=Role.WRITE)
    assert client.get(PAGE)["Location"].startswith("/login")
    assert client.post(f"{PAGE}/lab", {"lab-ror": "05gq02987"})["Location"].startswith("/login")
    client.force_login(bob)
    assert "lab-ror" not in text(client, PAGE)
    assert client.post(f"{PAGE}/lab", {"lab-ror": "05gq02987"}).status_code == 403
    assert client.post(f"{PAGE}/bob", {"bob-ror": "05gq02987"}).status_code == 400
    assert client.post(f"{PAGE}/nobody", {}).status_code == 404
    lab.refresh_from_db()
    assert lab.ror == ""
