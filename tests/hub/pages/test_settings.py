"""Settings of a model, its gate and its likes in the browser."""

from typing import Any

import pytest
from django.test import Client

from registry.services.repository.gate import access_request
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Gate
from registry.tables import AccessRequest, MLModel, User
from tests.hub.pages.test_reading import status, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cast")]

ROOT = "/lab/galaxy-cnn"
#: What a file's page shows of a text.
SHOWN = '<pre class="source"'


@pytest.fixture
def gated(galaxy: MLModel, charlie: User) -> MLModel:
    """The files of ``lab/galaxy-cnn`` are for those its owners accept."""
    return mlmodel_update(actor=charlie, mlmodel=galaxy, gate=Gate.MANUAL)


@pytest.fixture
def owner(client: Client, charlie: User) -> Client:
    """The browser of charlie, who may write."""
    client.force_login(charlie)
    return client


def test_visibility_gate_and_default_branch_are_saved(owner: Client, galaxy: MLModel) -> None:
    owner.post(f"{ROOT}/settings/lines", {"kind": "branch", "name": "next", "revision": "main"})
    form = {"visibility": "private", "gate": "auto", "default_branch": "next"}
    assert owner.post(f"{ROOT}/settings", form).status_code == 302
    galaxy.refresh_from_db()
    assert (galaxy.visibility, galaxy.gate, galaxy.default_branch) == ("private", "auto", "next")
    assert "Saved." in text(owner, f"{ROOT}/settings")
    assert owner.post(f"{ROOT}/settings", form | {"gate": "x"}).status_code == 400


def test_branches_and_tags_are_made_and_taken_away(owner: Client, galaxy: MLModel) -> None:
    owner.post(f"{ROOT}/settings/lines", {"kind": "tag", "name": "v1", "revision": "main"})
    assert galaxy.refs.get(name="v1").kind == "tag"
    for wrong in ({"kind": "tag", "name": "v1"}, {"kind": "tag", "name": "a..b"},
                  {"kind": "pull", "name": "7"}):  # fmt: skip
        answer = owner.post(f"{ROOT}/settings/lines", wrong, follow=True)
        assert "note bad" in answer.content.decode()
    owner.post(f"{ROOT}/settings/lines/delete", {"kind": "tag", "name": "v1"})
    assert not galaxy.refs.filter(name="v1").exists()
    gone = {"kind": "branch", "name": "main"}
    assert owner.post(f"{ROOT}/settings/lines/delete", gone).status_code == 403


def test_a_model_is_moved_and_its_old_address_leads_on(owner: Client, galaxy: MLModel) -> None:
    answer = owner.post(f"{ROOT}/settings/move", {"namespace": "charlie", "name": "stars"})
    assert answer["Location"] == "/charlie/stars/settings"
    assert owner.get(ROOT)["Location"] == "/charlie/stars"


def test_a_name_that_is_taken_is_said_beside_the_field(
    owner: Client, galaxy: MLModel, secret: MLModel
) -> None:
    answer = owner.post(f"{ROOT}/settings/move", {"namespace": "lab", "name": "secret"})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "already exists" in page
    assert f'action="{ROOT}/settings/move"' in page
    assert owner.post(f"{ROOT}/settings/move", {"namespace": "alice"}).status_code == 400


def test_deleting_needs_the_name_typed(owner: Client, galaxy: MLModel) -> None:
    assert owner.post(f"{ROOT}/settings/delete", {"confirm": "galaxy"}).status_code == 400
    assert MLModel.objects.filter(pk=galaxy.pk).exists()
    answer = owner.post(f"{ROOT}/settings/delete", {"confirm": "lab/galaxy-cnn"})
    assert answer["Location"] == "/lab"
    assert status(owner, ROOT) == 410, "its record stays"


def test_storage_is_shown_with_its_quota(owner: Client, galaxy: MLModel, settings: Any) -> None:
    settings.QUOTA_BYTES = None
    assert "unlimited" in text(owner, f"{ROOT}/settings")
    galaxy.namespace.quota_bytes = 10_000
    galaxy.namespace.save()
    assert "<meter" in text(owner, f"{ROOT}/settings")
    assert "<meter" in text(owner, "/lab")


def test_storage_is_no_business_of_strangers(client: Client, galaxy: MLModel) -> None:
    assert "Storage" not in text(client, "/lab")


def test_asking_for_access_and_being_let_in(client: Client, gated: MLModel, alice: User) -> None:
    closed = f"{ROOT}/blob/main/README.md"
    assert "Sign in to ask" in text(client, ROOT)
    client.force_login(alice)
    page = text(client, closed)
    assert "Ask for access" in page
    assert SHOWN not in page
    assert "Ask for access" in text(client, f"{ROOT}/raw/main/README.md", 403)
    client.post(f"{ROOT}/ask", {"message": "For my thesis."})
    assert "have not answered yet" in text(client, ROOT)
    asked = AccessRequest.objects.get()
    client.force_login(gated.created_by or alice)
    assert "For my thesis." in text(client, f"{ROOT}/settings")
    client.post(f"{ROOT}/settings/access/{asked.uuid}", {"state": "accepted"})
    client.force_login(alice)
    assert SHOWN in text(client, closed)
    assert "accepted" in text(client, "/settings/access")


def test_a_rejection_says_why(client: Client, gated: MLModel, alice: User, charlie: User) -> None:
    asked = access_request(actor=alice, mlmodel=gated)
    client.force_login(charlie)
    form = {"state": "rejected", "reason": "Students only"}
    client.post(f"{ROOT}/settings/access/{asked.uuid}", form)
    client.force_login(alice)
    assert "Students only" in text(client, ROOT)
    assert "Students only" in text(client, "/settings/access")
    answer = client.post(f"{ROOT}/ask", {}, follow=True)
    assert "note bad" in answer.content.decode()


def test_a_gate_that_opens_to_whoever_asks(
    client: Client, gated: MLModel, alice: User, charlie: User
) -> None:
    mlmodel_update(actor=charlie, mlmodel=gated, gate=Gate.AUTO)
    client.force_login(alice)
    client.post(f"{ROOT}/ask", {"message": ""})
    assert SHOWN in text(client, f"{ROOT}/blob/main/README.md")


def test_an_owner_lets_somebody_in_unasked(owner: Client, gated: MLModel, bob: User) -> None:
    owner.post(f"{ROOT}/settings/access", {"username": "bob"})
    owner.force_login(bob)
    assert SHOWN in text(owner, f"{ROOT}/blob/main/README.md")


def test_a_commit_behind_a_gate_names_paths_but_shows_no_lines(
    client: Client, gated: MLModel
) -> None:
    oid = gated.refs.get(name="main").revision.oid
    page = text(client, f"{ROOT}/commit/{oid}")
    assert "README.md" in page
    assert 'class="diff"' not in page


def test_liking_and_no_longer(client: Client, galaxy: MLModel, alice: User) -> None:
    client.force_login(alice)
    client.post(f"{ROOT}/like", {"liked": "yes"})
    assert 'aria-label="Like (1)"' in text(client, ROOT)
    assert 'aria-pressed="true"' in text(client, ROOT)
    answer = client.post(f"{ROOT}/like", {"liked": "no"}, headers={"HX-Request": "true"})
    assert 'aria-label="Like (0)"' in answer.content.decode()
    assert b"<html" not in answer.content


def test_signing_in_to_like_leads_back_to_the_model(client: Client, galaxy: MLModel) -> None:
    answer = client.post(f"{ROOT}/like", headers={"Referer": f"http://testserver{ROOT}"})
    assert answer["Location"] == "/login?next=%2Flab%2Fgalaxy-cnn"
    elsewhere = client.post(f"{ROOT}/like", headers={"Referer": "http://evil.example/x"})
    assert elsewhere["Location"] == "/login?next=%2F"


FORMS = {
    "/settings": {"visibility": "private", "gate": "open", "default_branch": "main"},
    "/settings/move": {"namespace": "alice", "name": "mine"},
    "/settings/delete": {"confirm": "lab/galaxy-cnn"},
    "/settings/lines": {"kind": "tag", "name": "v9"},
    "/settings/lines/delete": {"kind": "branch", "name": "main"},
    "/settings/access": {"username": "alice"},
    "/settings/access/00000000-0000-0000-0000-000000000000": {"state": "accepted"},
}


@pytest.mark.parametrize("tail", FORMS)
def test_settings_are_for_writers(client: Client, gated: MLModel, alice: User, tail: str) -> None:
    answer = client.post(f"{ROOT}{tail}", FORMS[tail])
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login")
    client.force_login(alice)
    assert client.post(f"{ROOT}{tail}", FORMS[tail]).status_code == 403
    assert status(client, f"{ROOT}/settings") == 403
    assert "Settings</a>" not in text(client, ROOT).partition('class="tabs"')[2]
    gated.refresh_from_db()
    assert gated.full_name == "lab/galaxy-cnn"
    assert gated.visibility == "public"
    assert [ref.name for ref in gated.refs.all()] == ["main"]
    assert not AccessRequest.objects.exists()


@pytest.mark.parametrize("tail", [*FORMS, "/like", "/ask"])
def test_forms_need_a_csrf_token(gated: MLModel, charlie: User, tail: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(charlie)
    assert client.post(f"{ROOT}{tail}", FORMS.get(tail, {})).status_code == 403


@pytest.mark.parametrize("tail", ["/settings", "/like", "/ask", "/settings/delete"])
def test_what_is_private_cannot_be_probed(
    client: Client, secret: MLModel, alice: User, tail: str
) -> None:
    client.force_login(alice)
    assert client.post(f"/lab/secret{tail}").status_code == 404
