"""Accounts and publishing from the browser."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from registry.selectors.repository.revision import file_get, revision_get
from registry.tables import MLModel, Token, User
from tests.factories import PASSWORD, make_mlmodel, readme, tiny_onnx

pytestmark = pytest.mark.django_db


def test_signing_up_leads_to_tokens(client: Client) -> None:
    answer = client.post(
        "/signup", {"username": "dora", "password": PASSWORD, "email": "", "full_name": "Dora"}
    )
    assert answer.status_code == 302
    assert client.get(answer["Location"]).status_code == 200
    assert User.objects.get(username="dora").full_name == "Dora"


@pytest.mark.parametrize(
    ("username", "password", "says"),
    [
        ("alice", PASSWORD, "taken"),
        ("models", PASSWORD, "models"),
        ("no spaces", PASSWORD, "name"),
        ("dora", "password", "too common"),
    ],
)
def test_a_sign_up_that_cannot_be_says_why(
    client: Client, alice: User, username: str, password: str, says: str
) -> None:
    answer = client.post("/signup", {"username": username, "password": password})
    assert answer.status_code == 400
    assert says in answer.content.decode()


def test_signing_in_and_out(client: Client, alice: User) -> None:
    assert client.post("/login", {"username": "alice", "password": "wrong"}).status_code == 200
    assert client.post("/login", {"username": "alice", "password": PASSWORD}).status_code == 302
    assert "Sign out" in client.get("/").content.decode()
    client.post("/logout")
    assert "Sign in" in client.get("/").content.decode()


def test_a_tokens_secret_is_shown_once(client: Client, alice: User) -> None:
    client.force_login(alice)
    answer = client.post("/settings/tokens", {"name": "laptop", "scope": "write"})
    assert "hpf_" in answer.content.decode()
    assert answer["Cache-Control"] == "no-store"
    assert "--token hpf_" not in client.get("/settings/tokens").content.decode()


def test_a_token_can_be_revoked_by_its_owner_only(client: Client, alice: User, bob: User) -> None:
    client.force_login(alice)
    client.post("/settings/tokens", {"name": "laptop", "scope": "read"})
    token = Token.objects.get()
    client.force_login(bob)
    assert client.post(f"/settings/tokens/{token.uuid}/revoke").status_code == 404
    client.force_login(alice)
    client.post(f"/settings/tokens/{token.uuid}/revoke")
    token.refresh_from_db()
    assert token.revoked_at


@pytest.mark.parametrize("path", ["/new", "/settings/tokens"])
def test_strangers_are_asked_to_sign_in(client: Client, db: None, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login")


def test_a_model_is_made_and_filled_from_the_browser(client: Client, alice: User) -> None:
    client.force_login(alice)
    answer = client.post("/new", {"namespace": "alice", "name": "first", "visibility": "public"})
    assert answer["Location"] == "/alice/first/upload"
    card = readme("# First\n\nA first model for the tests.\n").replace("\n", "\r\n")
    files = [SimpleUploadedFile("model.onnx", tiny_onnx())]
    answer = client.post("/alice/first/upload", {"card": card, "uploads": files, "message": "Add"})
    assert answer.status_code == 302, answer.content.decode()
    page = client.get("/alice/first").content.decode()
    assert "A first model for the tests." in page
    mlmodel = MLModel.objects.get(name="first")
    stored = file_get(revision_get(mlmodel), "README.md")
    assert stored.blob.size_bytes == len(card.replace("\r\n", "\n"))


def test_a_card_without_a_license_is_refused_with_what_to_do(client: Client, alice: User) -> None:
    client.force_login(alice)
    make_mlmodel("alice/first", actor=alice)
    answer = client.post("/alice/first/upload", {"card": readme(license=None), "message": ""})
    assert answer.status_code == 400
    assert "license" in answer.content.decode()


def test_a_name_taken_is_said_beside_the_field(client: Client, alice: User) -> None:
    client.force_login(alice)
    make_mlmodel("alice/first", actor=alice)
    form = {"namespace": "alice", "name": "First", "visibility": "public"}
    answer = client.post("/new", form)
    assert answer.status_code == 400
    assert "exists" in answer.content.decode()


def test_only_writers_see_and_may_use_the_upload(
    client: Client, galaxy: MLModel, alice: User
) -> None:
    client.force_login(alice)
    assert "Upload files" not in client.get("/lab/galaxy-cnn").content.decode()
    answer = client.post("/lab/galaxy-cnn/upload", {"card": readme(), "message": ""})
    assert answer.status_code in {400, 403}


def test_tuning_without_a_device_says_what_to_start(
    client: Client, galaxy: MLModel, charlie: User
) -> None:
    client.force_login(charlie)
    answer = client.post("/lab/galaxy-cnn/tune")
    assert answer.status_code in {400, 404}
    assert "inspection" in answer.content.decode()
