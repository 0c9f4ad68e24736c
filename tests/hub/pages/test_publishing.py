"""Accounts and publishing from the browser."""

import re

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
    secret = re.search(r"hpf_\w{20,}", answer.content.decode())
    assert secret is not None
    assert answer["Cache-Control"] == "no-store"
    assert secret[0] not in client.get("/settings/tokens").content.decode()


def test_no_command_of_the_page_has_a_token_in_it(client: Client, alice: User) -> None:
    client.force_login(alice)
    page = client.post("/settings/tokens", {"name": "laptop", "scope": "write"}).content.decode()
    assert not re.search(r"hpcfair login[^<]*hpf_", page)


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


def test_the_upload_asks_for_the_license_of_a_new_model(client: Client, alice: User) -> None:
    client.force_login(alice)
    client.post("/new", {"namespace": "alice", "name": "first", "visibility": "public"})
    assert 'name="license"' in client.get("/alice/first/upload").content.decode()

    def send(**form: str) -> int:
        files = [SimpleUploadedFile("model.onnx", tiny_onnx())]
        form = {"card": "", "message": "", **form}
        answer = client.post("/alice/first/upload", {**form, "uploads": files})
        if answer.status_code == 400:
            assert "license" in answer.content.decode()
        return answer.status_code

    assert send() == 400
    assert send(license="freeware") == 400
    assert not MLModel.objects.get().revisions.filter(parent__isnull=False).exists()
    assert send(license="mit") == 302
    mlmodel = MLModel.objects.get()
    assert (mlmodel.license, mlmodel.title or mlmodel.name) == ("MIT", "first")
    assert 'name="license"' not in client.get("/alice/first/upload").content.decode()


def test_a_license_joins_the_card_that_was_written(client: Client, alice: User) -> None:
    client.force_login(alice)
    make_mlmodel("alice/first", actor=alice)
    card = "---\ntags: [stars]\n---\n# Stars\n"
    answer = client.post("/alice/first/upload", {"card": card, "license": "mit", "message": ""})
    assert answer.status_code == 302, answer.content.decode()
    revision = revision_get(MLModel.objects.get())
    assert revision.card == {"tags": ["stars"], "license": "mit"}


def test_a_pickle_named_like_a_network_is_refused_with_what_it_is(
    client: Client, alice: User
) -> None:
    client.force_login(alice)
    client.post("/new", {"namespace": "alice", "name": "first", "visibility": "public"})
    files = [SimpleUploadedFile("model.onnx", b"\x80\x04K\x01.")]
    form = {"card": readme(), "message": "", "uploads": files}
    answer = client.post("/alice/first/upload", form)
    assert answer.status_code == 400
    assert "Python pickle" in answer.content.decode()
    assert Client().get("/alice/first").status_code == 404


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
