"""Likes over the wire."""

import pytest
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

from registry.services.repository.like import like_add
from registry.services.repository.mlmodel import mlmodel_create
from registry.states import RepositoryKind, Scope
from registry.tables import Like, MLModel, User
from tests.factories import make_user
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.wire import send, status_of

pytestmark = pytest.mark.django_db(transaction=True)


def likes(mlmodel: MLModel) -> int:
    mlmodel.refresh_from_db()
    return mlmodel.likes


def test_what_a_person_likes_is_listed_counted_and_taken_back(
    api_of: ApiOf, hub_url: str, galaxy: MLModel, alice: User, bob: User
) -> None:
    mlmodel_create(actor=alice, namespace="alice", name="d", kind=RepositoryKind.DATASET)
    for _ in range(2):
        assert send(hub_url, bob, "api/models/lab/galaxy-cnn/like").status_code == 200
    send(hub_url, alice, "api/models/lab/galaxy-cnn/like")
    send(hub_url, bob, "api/datasets/alice/d/like")
    assert likes(galaxy) == 2
    api = api_of(bob)
    liked = api.list_liked_repos()
    assert (liked.total, liked.models, liked.datasets) == (2, ["lab/galaxy-cnn"], ["alice/d"])
    assert [user.username for user in api.list_repo_likers("lab/galaxy-cnn")] == ["alice", "bob"]
    for _ in range(2):
        api.unlike("lab/galaxy-cnn")
    api.unlike("alice/d", repo_type="dataset")
    assert likes(galaxy) == 1
    assert api_of().list_liked_repos("bob").total == 0


def test_likes_of_what_is_hidden_are_hidden(
    api_of: ApiOf, hub_url: str, secret: MLModel, charlie: User, bob: User
) -> None:
    like_add(actor=charlie, mlmodel=secret)
    assert api_of(charlie).list_liked_repos().models == ["lab/secret"]
    assert api_of(bob).list_liked_repos("charlie").total == 0
    assert send(hub_url, bob, "api/models/lab/secret/like").status_code == 404
    with pytest.raises(RepositoryNotFoundError):
        api_of(bob).unlike("lab/secret")
    with pytest.raises(RepositoryNotFoundError):
        list(api_of(bob).list_repo_likers("lab/secret"))


def test_likes_need_a_person_who_may_write(
    api_of: ApiOf, hub_url: str, galaxy: MLModel, bob: User
) -> None:
    assert send(hub_url, None, "api/models/lab/galaxy-cnn/like").status_code == 401
    with pytest.raises(HfHubHTTPError) as caught:
        api_of(bob, Scope.READ).unlike("lab/galaxy-cnn")
    assert status_of(caught) == 403
    with pytest.raises(HfHubHTTPError) as caught:
        api_of(bob).list_liked_repos("nobody")
    assert status_of(caught) == 404


def test_many_likers_come_page_by_page(
    api_of: ApiOf, hub_url: str, galaxy: MLModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [make_user(f"person-{number}") for number in range(7)]
    monkeypatch.setattr("hub.hf.address._ROWS_PER_PAGE", 3)
    Like.objects.bulk_create([Like(mlmodel=galaxy, user=person) for person in people])
    names = [user.username for user in api_of().list_repo_likers("lab/galaxy-cnn")]
    assert names == [person.username for person in reversed(people)]
    bad = send(hub_url, None, "api/models/lab/galaxy-cnn/likers?cursor=-1", method="GET")
    assert bad.status_code == 400
