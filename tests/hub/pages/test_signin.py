"""Signing in and up by password."""

from typing import Any

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from registry.errors import Invalid
from registry.services.people.account import user_create
from registry.services.people.signin import PAIR
from registry.tables import User
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db


def sign_in(client: Client, password: str, username: str = "alice", **more: Any) -> Any:
    return client.post("/login", {"username": username, "password": password}, **more)


def test_a_guesser_is_told_when_to_try_again_and_nothing_is_checked(alice: User) -> None:
    for _ in range(PAIR.free):
        assert sign_in(Client(), "wrong").status_code == 200
    answer = sign_in(Client(), PASSWORD)
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "2"
    assert "try again in 2 s" in answer.content.decode()
    assert "sessionid" not in answer.cookies


def test_guesses_from_elsewhere_do_not_lock_the_owner_out(alice: User) -> None:
    for number in range(20):
        sign_in(Client(), "wrong", REMOTE_ADDR=f"203.0.113.{number % 3}")
    assert sign_in(Client(), PASSWORD).status_code == 302


def test_a_browser_in_which_the_owner_signed_in_before_is_never_delayed(alice: User) -> None:
    browser = Client()
    assert sign_in(browser, PASSWORD).status_code == 302
    browser.post("/logout")
    for _ in range(20):
        sign_in(Client(), "wrong")
    assert sign_in(Client(), PASSWORD).status_code == 429
    assert sign_in(browser, PASSWORD).status_code == 302


def test_that_browser_is_no_licence_to_guess(alice: User, bob: User) -> None:
    browser = Client()
    sign_in(browser, PASSWORD, "bob")
    browser.post("/logout")
    assert [sign_in(browser, "wrong").status_code for _ in range(PAIR.free + 1)][-1] == 429
    statuses = [sign_in(browser, "wrong", "bob").status_code for _ in range(11)]
    assert statuses == [200] * 10 + [429]


def test_the_mark_of_a_browser_is_not_forged_or_kept(alice: User) -> None:
    browser = Client()
    sign_in(browser, PASSWORD)
    mark = browser.cookies["browser"]
    assert mark["httponly"]
    assert mark["samesite"] == "Lax"
    assert PASSWORD not in mark.value
    alice.set_password("another phrase that nobody uses")
    alice.save()
    for forged in (mark.value, mark.value[:-3] + "abc", "x", ""):
        client = Client()
        client.cookies["browser"] = forged
        for _ in range(PAIR.free):
            sign_in(client, "wrong")
        assert sign_in(client, "wrong").status_code == 429


NAMES = {
    "username": "galaxy-person",
    "full_name": "Wilhelmina Featherstone",
    "email": "minerva-42@observatory.example",
}
OWN_NAMES = [
    "galaxy-person",
    "galaxyperson1",
    "featherstone",
    "Wilhelmina9",
    "minerva-42",
    "observatory1",
]


@pytest.mark.parametrize("password", OWN_NAMES)
def test_ones_own_names_are_no_password_wherever_it_is_set(
    client: Client, password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = client.post("/signup", {**NAMES, "password": password})
    assert page.status_code == 400
    assert "too similar to" in page.context["form"].errors["password"][0]
    with pytest.raises(Invalid, match="too similar"):
        user_create(**NAMES, password=password)
    monkeypatch.setenv("HPCFAIR_PASSWORD", password)
    with pytest.raises(CommandError, match="too similar"):
        call_command(
            *("user", NAMES["username"]),
            email=NAMES["email"],
            full_name=NAMES["full_name"],
        )
    assert not User.objects.exists()
    # Django's own command and views pass the account.
    with pytest.raises(ValidationError, match="too similar"):
        validate_password(password, User(**NAMES))


def test_a_very_long_password_is_not_hashed(client: Client) -> None:
    assert client.post("/signup", {**NAMES, "password": "x" * 100_000}).status_code == 400
