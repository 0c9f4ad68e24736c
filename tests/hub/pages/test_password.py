"""A forgotten password, and a new one."""

import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMessage
from django.test import Client
from django.utils.http import urlsafe_base64_encode

from hub import mail
from hub.pages.password import MESSAGES
from registry.services.people.signin import PAIR
from registry.tables import AuditEntry, User
from tests.factories import PASSWORD, make_token, make_user
from tests.hub.pages.test_reading import text

pytestmark = pytest.mark.django_db

NEW = "another phrase that nobody uses"


def request_link(client: Client, address: str = "alice@example.org", **more: Any) -> Any:
    return client.post("/login/reset", {"email": address}, **more)


def sent(mailbox: list[EmailMessage], count: int = 1) -> list[EmailMessage]:
    """The messages, which another thread sends."""
    deadline = time.monotonic() + 30
    while len(mailbox) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    # Everything that was begun has ended.
    mail._sender.submit(int).result(30)
    assert len(mailbox) == count
    return mailbox


def link_of(message: EmailMessage) -> str:
    (link,) = re.findall(r"^http\S+$", str(message.body), re.MULTILINE)
    return str(link)


def test_a_link_by_mail_sets_a_new_password_once(
    client: Client, alice: User, mailoutbox: list[EmailMessage], settings: Any
) -> None:
    settings.HUB_URL = "https://hub.example.org"
    stolen, token = Client(), make_token(alice)
    stolen.force_login(alice)
    assert "Forgotten password?" in text(client, "/login")
    # The address of links is the hub's, whatever host the request names.
    answer = request_link(client, "ALICE@example.org", headers={"host": "evil.example"})
    assert answer.headers["Location"] == "/login/reset/sent"
    (message,) = sent(mailoutbox)
    assert message.to == ["alice@example.org"]
    assert "the account alice" in str(message.body)
    link = link_of(message)
    assert link.startswith("https://hub.example.org/login/reset/")
    path = link.removeprefix("https://hub.example.org")
    form = client.get(path)
    # The secret leaves the address, which links of the page would pass on.
    assert form.headers["Location"].endswith("/set-password")
    page = client.get(form.headers["Location"])
    assert "alice" in page.content.decode()
    weak = client.post(form.headers["Location"], {"password": "alice123"})
    assert weak.status_code == 400
    assert "too similar" in weak.content.decode()
    done = client.post(form.headers["Location"], {"password": NEW}, follow=True)
    assert "The password is set" in done.content.decode()
    alice.refresh_from_db()
    assert alice.check_password(NEW)
    assert AuditEntry.objects.get(action="user.credentials").detail["password"] is True
    # Sessions end, tokens do not, and the link is used up.
    assert stolen.get("/settings/tokens").status_code == 302
    bearer = {"authorization": f"Bearer {token}"}
    assert client.get("/api/v1/whoami", headers=bearer).status_code == 200
    assert "not valid" in Client().get(path).content.decode()


def test_nobody_learns_who_has_an_account(
    client: Client, alice: User, mailoutbox: list[EmailMessage], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_answered = threading.Event()
    waits = []

    def slow(*_: Any, **__: Any) -> None:
        waits.append(is_answered.wait(300))

    # Not even by waiting for the mail server.
    monkeypatch.setattr("django.contrib.auth.forms.EmailMultiAlternatives.send", slow)
    answers = []
    for address in ("alice@example.org", "nobody@example.org"):
        answer = request_link(client, address)
        answers.append((answer.status_code, answer.headers["Location"], answer.content))
    assert answers[0] == answers[1]
    is_answered.set()
    # Each sender takes one of these once it has sent what it was given before.
    count = mail._sender._max_workers
    idle = threading.Barrier(count + 1)
    for _ in range(count):
        mail._sender.submit(idle.wait, 300)
    idle.wait(300)
    assert waits == [True]


def test_who_cannot_sign_in_gets_no_link(
    client: Client, alice: User, bob: User, mailoutbox: list[EmailMessage]
) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    bob.set_unusable_password()
    bob.save()
    for address in ("alice@example.org", "bob@example.org", "nobody@example.org"):
        request_link(client, address)
    assert sent(mailoutbox, 0) == []


def test_who_forgot_it_signs_in_at_once_afterwards(client: Client, alice: User) -> None:
    for _ in range(PAIR.free + 1):
        client.post("/login", {"username": "alice", "password": "forgotten"})
    uid = urlsafe_base64_encode(str(alice.pk).encode())
    form = client.get(f"/login/reset/{uid}/{default_token_generator.make_token(alice)}")
    client.post(form.headers["Location"], {"password": NEW})
    answer = client.post("/login", {"username": "alice", "password": NEW})
    assert answer.status_code == 302


def test_accounts_of_one_address_get_a_link_each(
    client: Client, alice: User, mailoutbox: list[EmailMessage]
) -> None:
    make_user("alice-at-work", email="alice@example.org")
    request_link(client)
    bodies = [str(message.body) for message in sent(mailoutbox, 2)]
    assert sum("the account alice-at-work" in body for body in bodies) == 1


def test_nobodys_mailbox_is_filled(
    client: Client, alice: User, mailoutbox: list[EmailMessage]
) -> None:
    for number in range(MESSAGES + 2):
        answer = request_link(client, REMOTE_ADDR=f"203.0.113.{number}")
        assert answer.headers["Location"] == "/login/reset/sent"
    sent(mailoutbox, MESSAGES)


def test_one_network_requests_few_links(client: Client, settings: Any) -> None:
    settings.LIMIT_RESETS = 2
    answers = [request_link(client, f"{number}@example.org") for number in range(3)]
    assert [answer.status_code for answer in answers] == [302, 302, 429]
    assert answers[2].headers["Retry-After"]


@pytest.mark.parametrize("change", ["uid", "token", "old"])
def test_a_wrong_or_old_link_opens_nothing(
    client: Client, alice: User, settings: Any, change: str
) -> None:
    uid = urlsafe_base64_encode(str(alice.pk + (change == "uid")).encode())
    token = default_token_generator.make_token(alice)
    if change == "token":
        token = token[:-1] + ("0" if token[-1] != "0" else "1")
    if change == "old":
        settings.PASSWORD_RESET_TIMEOUT = -1
    page = client.get(f"/login/reset/{uid}/{token}")
    assert (page.status_code, "not valid" in page.content.decode()) == (200, True)
    for hostile in ("AAAA", "%00", "9" * 60):
        assert client.get(f"/login/reset/{hostile}/set-password").status_code == 200


def test_a_hub_without_a_mail_server_writes_the_message_for_its_operator(
    client: Client, alice: User, settings: Any, tmp_path: Path
) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_FILE_PATH = "hub.mail.FolderBackend", tmp_path / "mail"
    request_link(client)
    mail._sender.submit(int).result(30)
    folder = tmp_path / "mail"
    deadline = time.monotonic() + 30
    while not list(folder.glob("*.log")) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert "no mail server" in text(client, "/login/reset/sent")
    settings.EMAIL_HOST = "mail.example.org"
    assert "no mail server" not in text(client, "/login/reset/sent")


def form_of(**changes: str) -> dict[str, str]:
    return {"email": "alice@example.org", "new_password": "", "password": PASSWORD} | changes


def test_a_person_changes_password_and_address(client: Client, alice: User) -> None:
    assert client.get("/settings/password").headers["Location"].startswith("/login")
    client.force_login(alice)
    other = Client()
    other.force_login(alice)
    assert "alice@example.org" in text(client, "/settings/password")
    changes = form_of(email="a@example.net", new_password=NEW)
    answer = client.post("/settings/password", changes)
    assert answer.headers["Location"] == "/settings/password"
    alice.refresh_from_db()
    assert (alice.email, alice.check_password(NEW)) == ("a@example.net", True)
    # This browser stays signed in, the others do not.
    assert "Saved." in text(client, "/settings/password")
    assert other.get("/settings/password").status_code == 302


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"password": "wrong"}, "not your present password"),
        ({"new_password": "short"}, "too short"),
        ({"new_password": "aliceadams1"}, "too similar"),
        ({"email": "nowhere"}, "valid email address"),
    ],
)
def test_a_wrong_value_changes_nothing(
    client: Client, alice: User, changes: dict[str, str], message: str
) -> None:
    client.force_login(alice)
    answer = client.post("/settings/password", form_of(**changes))
    assert answer.status_code == 400
    assert message in answer.content.decode()
    alice.refresh_from_db()
    assert (alice.email, alice.check_password(PASSWORD)) == ("alice@example.org", True)


def test_a_session_is_no_licence_to_guess_the_password(client: Client, alice: User) -> None:
    client.force_login(alice)
    for _ in range(PAIR.free):
        assert client.post("/settings/password", form_of(password="wrong")).status_code == 400
    answer = client.post("/settings/password", form_of(new_password=NEW))
    assert answer.status_code == 429
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)
