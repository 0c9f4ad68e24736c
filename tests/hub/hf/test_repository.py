"""Repositories made, deleted, moved and set by the real client."""

import pytest
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

from registry.states import Scope
from registry.tables import MLModel, Namespace, User
from tests.factories import make_mlmodel
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.wire import send, status_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_model_and_a_data_set_of_one_name_are_made_side_by_side(
    api_of: ApiOf, hub_url: str, alice: User
) -> None:
    api = api_of(alice)
    model = api.create_repo("alice/Net")
    data = api.create_repo("alice/Net", repo_type="dataset", private=True)
    assert (model, model.repo_id, model.repo_type) == (f"{hub_url}/alice/Net", "alice/Net", "model")
    assert (data, data.repo_type) == (f"{hub_url}/datasets/alice/Net", "dataset")
    assert [(row.kind, row.visibility) for row in MLModel.objects.order_by("pk")] == [
        ("model", "public"),
        ("dataset", "private"),
    ]


def test_a_name_alone_is_one_of_the_persons_own(api_of: ApiOf, alice: User) -> None:
    assert api_of(alice).create_repo("net").repo_id == "alice/net"
    api_of(alice).delete_repo("net")
    assert not MLModel.objects.exists()


def test_a_name_in_use_is_a_conflict_that_may_be_accepted(api_of: ApiOf, alice: User) -> None:
    api = api_of(alice)
    api.create_repo("alice/Net", private=True)
    with pytest.raises(HfHubHTTPError, match="already exists") as caught:
        api.create_repo("ALICE/net")
    assert status_of(caught) == 409
    known = api.create_repo("ALICE/net", exist_ok=True)
    assert known.repo_id == "alice/Net"
    assert MLModel.objects.get().visibility == "private"


def test_nobody_makes_anything_in_anothers_namespace_or_unnamed(
    api_of: ApiOf,
    hub_url: str,
    alice: User,
    bob: User,
    galaxy: MLModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("bob/net", "lab/net", "nobody/net"):
        with pytest.raises(HfHubHTTPError) as caught:
            api_of(alice).create_repo(name)
        assert status_of(caught) == 403
    with pytest.raises(HfHubHTTPError) as caught:
        api_of(alice, Scope.READ).create_repo("alice/net")
    assert status_of(caught) == 403
    with pytest.raises(HfHubHTTPError) as caught:
        api_of().create_repo("alice/net")
    assert status_of(caught) == 401
    # The client looks whether it exists before it gives up; then it forgets its own endpoint.
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub_url)
    assert api_of(alice).create_repo("lab/galaxy-cnn", exist_ok=True).repo_id == "lab/galaxy-cnn"


def test_what_cannot_be_made_is_refused_with_its_reason(
    hub_url: str, alice: User, bob: User
) -> None:
    for body in [
        {"name": "net", "type": "space"},
        {"name": "net", "type": "kernel"},
        {"name": "net", "type": 7},
        {"name": "net", "visibility": "protected"},
        {"name": "net", "visibility": ["private"]},
        {"name": "net", "organization": 7},
        {"name": "a/b/c"},
        {"name": "../net"},
        {"name": ""},
        {"name": None},
        {"name": "n\u0000et"},
        {},
        [],
        "net",
    ]:
        answer = send(hub_url, alice, "api/repos/create", body)
        assert answer.status_code in {400, 403}, answer.text
        assert answer.json()["error"]
        assert not MLModel.objects.exists()


def test_older_clients_say_private_as_a_flag(hub_url: str, alice: User) -> None:
    body = {"name": "net", "organization": None, "type": "dataset", "private": True}
    assert send(hub_url, alice, "api/repos/create", body).json()["private"] is True
    assert send(
        hub_url, alice, "api/repos/create", {"name": "alice/open", "private": False}
    ).json() == {
        "url": f"{hub_url}/alice/open",
        "name": "alice/open",
        "id": str(MLModel.objects.get(name="open").uuid),
        "private": False,
    }


def test_a_repository_is_deleted_once(api_of: ApiOf, alice: User, bob: User) -> None:
    api = api_of(alice)
    api.create_repo("alice/net")
    api.create_repo("alice/net", repo_type="dataset")
    with pytest.raises(HfHubHTTPError) as caught:
        api_of(bob).delete_repo("alice/net")
    assert status_of(caught) == 403
    api.delete_repo("alice/net", repo_type="dataset")
    assert [row.kind for row in MLModel.objects.all()] == ["model"]
    api.delete_repo("Alice/NET")
    with pytest.raises(RepositoryNotFoundError):
        api.delete_repo("alice/net")
    api.delete_repo("alice/net", missing_ok=True)


def test_a_private_one_answers_strangers_as_if_it_were_not_there(
    api_of: ApiOf, secret: MLModel, bob: User
) -> None:
    for act in (
        lambda api: api.delete_repo("lab/secret"),
        lambda api: api.move_repo("lab/secret", "bob/secret"),
        lambda api: api.update_repo_settings("lab/secret", private=False),
        lambda api: api.auth_check("lab/secret"),
        lambda api: api.auth_check("lab/secret", write=True),
    ):
        with pytest.raises(RepositoryNotFoundError):
            act(api_of(bob))


def test_settings_hide_show_and_gate(api_of: ApiOf, galaxy: MLModel, charlie: User) -> None:
    api = api_of(charlie)
    seen = []
    for settings in (
        {"private": True},
        {"gated": "manual", "visibility": "public"},
        {"gated": "auto"},
        {"gated": False},
    ):
        api.update_repo_settings("lab/galaxy-cnn", **settings)
        galaxy.refresh_from_db()
        seen.append((galaxy.visibility, galaxy.gate))
    assert seen == [
        ("private", "open"),
        ("public", "manual"),
        ("public", "auto"),
        ("public", "open"),
    ]


def test_settings_that_are_none_are_refused(hub_url: str, galaxy: MLModel, charlie: User) -> None:
    for body in [
        {},
        {"gated": "perhaps"},
        {"gated": True},
        {"gated": []},
        {"visibility": "protected"},
        [1],
    ]:
        answer = send(hub_url, charlie, "api/models/lab/galaxy-cnn/settings", body, "PUT")
        assert answer.status_code == 400, body
        galaxy.refresh_from_db()
        assert (galaxy.visibility, galaxy.gate) == ("public", "open")


def test_settings_are_for_writers(api_of: ApiOf, galaxy: MLModel, bob: User) -> None:
    for api, status in ((api_of(bob), 403), (api_of(), 401)):
        with pytest.raises(HfHubHTTPError) as caught:
            api.update_repo_settings("lab/galaxy-cnn", gated="auto")
        assert status_of(caught) == status


def test_who_may_read_and_write_can_be_asked(
    api_of: ApiOf, galaxy: MLModel, bob: User, charlie: User
) -> None:
    api_of(charlie).auth_check("lab/galaxy-cnn", write=True)
    api_of(bob).auth_check("lab/galaxy-cnn")
    api_of().auth_check("lab/galaxy-cnn")
    for api, status in ((api_of(bob), 403), (api_of(), 401), (api_of(charlie, Scope.READ), 403)):
        with pytest.raises(HfHubHTTPError) as caught:
            api.auth_check("lab/galaxy-cnn", write=True)
        assert status_of(caught) == status


def test_what_takes_how_much_is_listed_for_members(
    api_of: ApiOf, galaxy: MLModel, secret: MLModel, charlie: User, bob: User
) -> None:
    MLModel.objects.filter(pk=galaxy.pk).update(used_bytes=300)
    MLModel.objects.filter(pk=secret.pk).update(used_bytes=100)
    Namespace.objects.filter(name="lab").update(used_bytes=400)
    make_mlmodel("charlie/own", actor=charlie)
    rows = list(api_of(charlie).list_user_repos("lab"))
    shown = [(r.id, r.type, r.visibility, r.storage, r.storage_percent) for r in rows]
    assert shown == [
        ("lab/secret", "model", "private", 100, 25.0),
        ("lab/galaxy-cnn", "model", "public", 300, 75.0),
    ]
    assert [row.id for row in api_of(charlie).list_user_repos()] == ["charlie/own"]
    for api, name, status in (
        (api_of(bob), "lab", 403),
        (api_of(bob), "nobody", 404),
        (api_of(), None, 401),
    ):
        with pytest.raises(HfHubHTTPError) as caught:
            list(api.list_user_repos(name))
        assert status_of(caught) == status


def test_a_moved_repository_is_read_and_written_by_its_old_name(
    api_of: ApiOf, hub_url: str, galaxy: MLModel, charlie: User, bob: User
) -> None:
    api = api_of(charlie)
    api.create_repo("charlie/old", repo_type="dataset")
    api.move_repo("lab/galaxy-cnn", "charlie/Stars")
    api.move_repo("charlie/old", "charlie/new", repo_type="dataset")
    api_of(bob).auth_check("lab/galaxy-cnn")
    api.update_repo_settings("LAB/Galaxy-CNN", private=True)
    api.auth_check("charlie/old", repo_type="dataset", write=True)
    assert MLModel.objects.get(pk=galaxy.pk).visibility == "private"
    with pytest.raises(RepositoryNotFoundError):
        api_of(bob).auth_check("lab/galaxy-cnn")
    # A data set's old name is no model's.
    with pytest.raises(RepositoryNotFoundError):
        api.auth_check("charlie/old")


def test_files_of_a_moved_repository_come_and_go_by_its_old_name(
    api_of: ApiOf, galaxy: MLModel, charlie: User, bob: User
) -> None:
    api_of(charlie).move_repo("lab/galaxy-cnn", "charlie/stars")
    assert api_of(bob).hf_hub_download("lab/galaxy-cnn", "model.onnx")
    assert api_of(bob).model_info("lab/galaxy-cnn").id == "charlie/stars"
    for path in ("notes.txt", "weights.bin"):
        api_of(charlie).upload_file(
            path_or_fileobj=b"sent to the old name",
            path_in_repo=path,
            repo_id="lab/galaxy-cnn",
        )
    names = api_of(bob).list_repo_files("charlie/stars")
    assert {"notes.txt", "weights.bin"} <= set(names)


def test_moving_is_refused_where_it_cannot_be(
    api_of: ApiOf, hub_url: str, galaxy: MLModel, charlie: User, bob: User
) -> None:
    api_of(bob).create_repo("bob/stars")
    for mover, source, goal, status in (
        (charlie, "lab/galaxy-cnn", "bob/galaxy", 403),
        (bob, "lab/galaxy-cnn", "bob/galaxy", 403),
        (charlie, "lab/galaxy-cnn", "lab/galaxy-cnn", 409),
        (charlie, "lab/nothing", "lab/new", 404),
    ):
        with pytest.raises(HfHubHTTPError) as caught:
            api_of(mover).move_repo(source, goal)
        assert status_of(caught) == status
    api_of(charlie).create_repo("lab/other")
    with pytest.raises(HfHubHTTPError, match="A model repository called lab/other already exists"):
        api_of(charlie).move_repo("lab/galaxy-cnn", "lab/other")
    for body in ({}, {"fromRepo": "lab/galaxy-cnn", "toRepo": "x"}, {"fromRepo": 1, "toRepo": 2}):
        assert send(hub_url, charlie, "api/repos/move", body).status_code == 400


def test_a_repository_is_duplicated_with_its_revisions(
    api_of: ApiOf, hub_url: str, galaxy: MLModel, bob: User
) -> None:
    api = api_of(bob)
    made = api.duplicate_repo("lab/galaxy-cnn", "bob/mine", private=True)
    assert (made, made.files_copy_pending) == (f"{hub_url}/bob/mine", False)
    assert api.duplicate_repo("lab/galaxy-cnn").repo_id == "bob/galaxy-cnn"
    head = galaxy.refs.get().revision.oid
    assert api.hf_hub_download("bob/mine", "model.onnx", revision=head)
    with pytest.raises(HfHubHTTPError) as caught:
        api.duplicate_repo("lab/galaxy-cnn", "bob/Mine")
    assert status_of(caught) == 409
    again = api.duplicate_repo("lab/galaxy-cnn", "bob/Mine", exist_ok=True)
    assert again.repo_id == "bob/mine"
    for name, status in (("alone/mine", 403), ("lab/mine", 403), ("bob/-", 400)):
        answer = send(hub_url, bob, "api/models/lab/galaxy-cnn/duplicate", {"repository": name})
        assert answer.status_code == status, answer.text
    for body in ({}, {"repository": "mine"}, {"repository": ["bob/mine"]}):
        answer = send(hub_url, bob, "api/models/lab/galaxy-cnn/duplicate", body)
        assert answer.status_code == 400
