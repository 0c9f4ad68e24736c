"""Files behind a gate: asked for by one person's client, opened by another's."""

from typing import Any

import pytest
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Scope
from registry.tables import MLModel, Namespace, User
from tests.factories import make_token
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.wire import send, status_of

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "lab/galaxy-cnn"


@pytest.fixture
def gated(galaxy: MLModel, charlie: User) -> MLModel:
    """``lab/galaxy-cnn``, whose owner decides who gets its files."""
    return mlmodel_update(actor=charlie, mlmodel=galaxy, gate="manual")


def test_a_person_asks_an_owner_accepts_and_the_file_comes(
    api_of: ApiOf, hub_url: str, gated: MLModel, bob: User, charlie: User
) -> None:
    asker, owner = api_of(bob), api_of(charlie)
    with pytest.raises(GatedRepoError) as caught:
        asker.hf_hub_download(NAME, "model.onnx")
    assert status_of(caught) == 403
    restricted = f"Access to model {NAME} is restricted"
    assert caught.value.server_message == (
        f"{restricted} and you are not in the authorized list. "
        f"Visit {hub_url}/{NAME} to ask for access."
    )
    with pytest.raises(GatedRepoError) as caught:
        api_of().hf_hub_download(NAME, "model.onnx")
    assert status_of(caught) == 401
    assert caught.value.server_message == (
        f"{restricted}. You must have access to it and be authenticated to access it. "
        "Please log in."
    )

    asked = send(hub_url, bob, f"{NAME}/ask-access", {"message": "For my thesis.\n\nThanks!"})
    assert asked.json()["status"] == "pending"
    (request,) = owner.list_pending_access_requests(NAME)
    assert (request.username, request.fullname, request.email) == ("bob", "Bob Brown", None)
    assert request.fields == {"message": "For my thesis.\n\nThanks!"}
    with pytest.raises(GatedRepoError, match="is awaiting a review from the repo authors"):
        asker.auth_check(NAME)

    owner.accept_access_request(NAME, "BOB")
    asker.auth_check(NAME)
    assert asker.hf_hub_download(NAME, "model.onnx").endswith("model.onnx")
    assert [r.status for r in owner.list_accepted_access_requests(NAME)] == ["accepted"]
    assert list(owner.list_pending_access_requests(NAME)) == []


def test_owners_may_change_their_mind_but_not_to_what_it_is(
    api_of: ApiOf, hub_url: str, gated: MLModel, bob: User, charlie: User
) -> None:
    asker, owner = api_of(bob), api_of(charlie)
    uuid = send(hub_url, bob, f"{NAME}/ask-access", {}).json()["requestId"]
    turns: list[Any] = [
        lambda: owner.reject_access_request(NAME, "bob", rejection_reason="Too vague."),
        lambda: owner.accept_access_request(NAME, request_id=uuid),
        lambda: owner.cancel_access_request(NAME, "bob"),
    ]
    with pytest.raises(HfHubHTTPError, match="pending already") as caught:
        turns[2]()
    assert status_of(caught) == 404
    for turn, fetches in zip(turns, [False, True, False], strict=True):
        turn()
        with pytest.raises(HfHubHTTPError) as caught:
            turn()
        assert status_of(caught) == 404
        if fetches:
            asker.auth_check(NAME)
        else:
            with pytest.raises(GatedRepoError):
                asker.auth_check(NAME)
    turns[0]()
    with pytest.raises(
        GatedRepoError, match=r"has been rejected by the repo's authors\. Too vague\."
    ):
        asker.auth_check(NAME)
    assert [r.request_id for r in owner.list_rejected_access_requests(NAME)] == [uuid]


def test_an_automatic_gate_opens_to_whoever_asks(
    api_of: ApiOf, hub_url: str, gated: MLModel, bob: User, charlie: User
) -> None:
    send(hub_url, bob, f"{NAME}/ask-access", {})
    api_of(charlie).update_repo_settings(NAME, gated="auto")
    with pytest.raises(GatedRepoError):
        api_of(bob).auth_check(NAME)
    assert send(hub_url, bob, f"{NAME}/ask-access", {}).json()["status"] == "accepted"
    api_of(bob).auth_check(NAME)
    again = send(hub_url, bob, f"{NAME}/ask-access", {})
    assert (again.status_code, "already" in again.json()["error"]) == (400, True)


def test_access_is_granted_without_being_asked_for(
    api_of: ApiOf, gated: MLModel, bob: User, charlie: User
) -> None:
    api_of(charlie).grant_access(NAME, "bob")
    api_of(bob).auth_check(NAME)
    for name, status in (("bob", 400), ("charlie", 400), ("nobody", 404), ("lab", 404)):
        with pytest.raises(HfHubHTTPError) as caught:
            api_of(charlie).grant_access(NAME, name)
        assert status_of(caught) == status, name


def test_data_sets_are_gated_alike(api_of: ApiOf, hub_url: str, alice: User, bob: User) -> None:
    owner = api_of(alice)
    owner.create_repo("alice/data", repo_type="dataset")
    owner.update_repo_settings("alice/data", repo_type="dataset", gated="manual")
    send(hub_url, bob, "datasets/alice/data/ask-access", {})
    owner.accept_access_request("alice/data", "bob", repo_type="dataset")
    api_of(bob).auth_check("alice/data", repo_type="dataset")
    assert send(hub_url, bob, "alice/data/ask-access", {}).status_code == 404


def test_only_writers_see_and_answer_requests(
    api_of: ApiOf, gated: MLModel, bob: User, alice: User, charlie: User
) -> None:
    api_of(charlie).grant_access(NAME, "bob")
    for api, status in ((api_of(bob), 403), (api_of(charlie, Scope.READ), 403), (api_of(), 401)):
        acts: list[Any] = [
            lambda api=api: list(api.list_accepted_access_requests(NAME)),
            lambda api=api: api.reject_access_request(NAME, "bob", rejection_reason=None),
            # Nor whether somebody asked.
            lambda api=api: api.accept_access_request(NAME, "alice"),
            lambda api=api: api.grant_access(NAME, "alice"),
        ]
        for act in acts:
            with pytest.raises(HfHubHTTPError) as caught:
                act()
            assert status_of(caught) == status
    api_of(bob).auth_check(NAME)


def test_where_nothing_is_gated_nothing_is_asked_or_answered(
    api_of: ApiOf, hub_url: str, galaxy: MLModel, secret: MLModel, bob: User, charlie: User
) -> None:
    assert send(hub_url, bob, f"{NAME}/ask-access", {}).status_code == 400
    with pytest.raises(HfHubHTTPError) as caught:
        api_of(charlie).grant_access(NAME, "bob")
    assert status_of(caught) == 400
    assert send(hub_url, bob, "lab/secret/ask-access", {}).status_code == 404
    with pytest.raises(RepositoryNotFoundError):
        api_of(bob).grant_access("lab/secret", "bob")


def test_malformed_requests_and_answers_change_nothing(
    hub_url: str, gated: MLModel, alice: User, bob: User, charlie: User
) -> None:
    send(hub_url, bob, f"{NAME}/ask-access", {})
    for tail, body in [
        ("ask-access", {"message": 7}),
        ("ask-access", {"message": "x" * 2001}),
        ("ask-access", {"message": "nul\u0000"}),
        ("ask-access", ["message"]),
        ("handle", {"user": "bob"}),
        ("handle", {"user": "bob", "status": "open"}),
        ("handle", {"user": ["bob"], "status": "accepted"}),
        ("handle", {"status": "accepted"}),
        ("handle", {"user": "bob", "status": "rejected", "rejectionReason": "x" * 201}),
        ("handle", {"user": "bob", "status": "rejected", "rejectionReason": {}}),
        ("grant", {}),
        ("grant", {"user": None}),
    ]:
        sender = alice if tail == "ask-access" else charlie
        path = (
            f"{NAME}/ask-access"
            if tail == "ask-access"
            else f"api/models/{NAME}/user-access-request/{tail}"
        )
        assert send(hub_url, sender, path, body).status_code == 400, (tail, body)
        assert [row.state for row in gated.access_requests.all()] == ["pending"]


def test_who_never_asked_cannot_be_answered(
    hub_url: str, gated: MLModel, bob: User, charlie: User
) -> None:
    for who in ({"user": "bob"}, {"user": "no body"}, {"requestId": "7"}, {"requestId": "\u0000"}):
        path = f"api/models/{NAME}/user-access-request/handle"
        answer = send(hub_url, charlie, path, who | {"status": "accepted"})
        assert answer.status_code == 404, answer.text


def test_a_token_for_another_namespace_neither_asks_nor_fetches(
    api_of: ApiOf, hub_url: str, gated: MLModel, bob: User, charlie: User
) -> None:
    api_of(charlie).grant_access(NAME, "bob")
    limited = make_token(bob, namespace=Namespace.objects.get(name="bob"))
    with pytest.raises(GatedRepoError, match="not limited"):
        hf_hub_download(NAME, "model.onnx", token=limited, endpoint=hub_url)
