"""Discussions with the unmodified client."""

from typing import Any

import pytest
from huggingface_hub import HfApi
from huggingface_hub.community import (
    DiscussionComment,
    DiscussionStatusChange,
    DiscussionTitleChange,
)
from huggingface_hub.errors import BadRequestError, HfHubHTTPError, RepositoryNotFoundError
from huggingface_hub.utils import get_session

from hub.hf import discussion as views
from registry.services.discussion.discussion import discussion_open
from registry.services.repository.mlmodel import mlmodel_create
from registry.states import RepositoryKind, Scope
from registry.tables import MLModel, User
from tests.hub.hf.conftest import ApiOf

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:Hidden comments:UserWarning"),
]

ID = "lab/galaxy-cnn"


def status_of(call: Any, *args: Any, **options: Any) -> tuple[int, str]:
    """The status and code with which the hub refuses."""
    with pytest.raises(HfHubHTTPError) as refused:
        call(*args, **options)
    response = refused.value.response
    return response.status_code, response.headers.get("X-Error-Code", "")


def ask(api: HfApi, method: str, path: str, **options: Any) -> tuple[int, Any]:
    """What the hub answers to a request that the client would not make."""
    headers = api._build_hf_headers()
    response = get_session().request(
        method, f"{api.endpoint}/api/{path}", headers=headers, **options
    )
    return response.status_code, response.json()


def test_a_discussion_lives_as_the_client_knows_it(
    api_of: ApiOf, galaxy: MLModel, alice: User, charlie: User
) -> None:
    mine, theirs = api_of(alice), api_of(charlie)
    made = mine.create_discussion(ID, " Which data? ", description="I *ask*.\n")
    assert (made.num, made.title, made.status, made.author) == (1, "Which data?", "open", "alice")
    assert (made.repo_id, made.repo_type, made.is_pull_request) == (ID, "model", False)
    assert (made.diff, made.target_branch, made.git_reference) == (None, None, None)
    assert made.url.endswith(f"/{ID}/discussions/1")
    (first,) = made.events
    assert isinstance(first, DiscussionComment)
    assert (first.content, first.author, first.edited) == ("I *ask*.", "alice", False)

    said = theirs.comment_discussion(ID, 1, "Ours <b>")
    edited = theirs.edit_discussion_comment(ID, 1, said.id, "Theirs <b>")
    assert (edited.id, edited.content, edited.edited) == (said.id, "Theirs <b>", True)
    assert edited.rendered == "<p>Theirs &lt;b&gt;</p>"
    assert (edited.number_of_edits, edited.last_edited_by) == (1, "charlie")
    assert edited.last_edited_at >= edited.created_at
    hidden = theirs.hide_discussion_comment(ID, 1, said.id)
    assert (hidden.hidden, hidden.content) == (True, "")

    title = mine.rename_discussion(ID, 1, "Which data set?")
    assert (title.old_title, title.new_title) == ("Which data?", "Which data set?")
    closed = theirs.change_discussion_status(ID, 1, "closed", comment="Said.")
    assert (closed.new_status, closed.author) == ("closed", "charlie")

    after = mine.get_discussion_details(ID, 1)
    assert (after.title, after.status) == ("Which data set?", "closed")
    assert [type(event) for event in after.events] == [
        DiscussionComment,
        DiscussionComment,
        DiscussionTitleChange,
        DiscussionComment,
        DiscussionStatusChange,
    ]
    assert mine.change_discussion_status(ID, 1, "open").new_status == "open"


def test_lists_are_filtered_and_paged(
    api_of: ApiOf, galaxy: MLModel, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "_PAGE_SIZE", 2)
    for number in range(5):
        discussion_open(actor=alice, mlmodel=galaxy, title=f"Number {number}")
    api_of(bob).create_pull_request(ID, "Better")
    api_of(alice).change_discussion_status(ID, 1, "closed")
    nobody = api_of()

    def nums(**options: Any) -> list[int]:
        return [found.num for found in nobody.get_repo_discussions(ID, **options)]

    assert nums() == nums(discussion_type="all", discussion_status="all") == [6, 5, 4, 3, 2, 1]
    assert nums(discussion_type="pull_request") == nums(author="bob") == [6]
    assert nums(discussion_type="discussion", discussion_status="open") == [5, 4, 3, 2]
    assert nums(discussion_status="closed") == [1]
    assert nums(author="nobody") == []
    found = next(nobody.get_repo_discussions(ID))
    assert (found.title, found.status, found.is_pull_request) == ("Better", "draft", True)


def test_data_sets_are_talked_about_too(api_of: ApiOf, alice: User) -> None:
    mlmodel_create(actor=alice, namespace="alice", name="stars", kind=RepositoryKind.DATASET)
    api = api_of(alice)
    made = api.create_discussion("alice/stars", "Magnitudes?", repo_type="dataset")
    assert (made.repo_type, made.num) == ("dataset", 1)
    assert "library" in made.events[0]._event["data"]["latest"]["raw"]
    assert made.url.endswith("/datasets/alice/stars/discussions/1")
    with pytest.raises(RepositoryNotFoundError):
        api.get_discussion_details("alice/stars", 1)


def test_who_may_do_what(api_of: ApiOf, galaxy: MLModel, alice: User, bob: User) -> None:
    api_of(alice).create_discussion(ID, "Hello")
    said = api_of(alice).comment_discussion(ID, 1, "Mine")
    other = api_of(bob)
    other.comment_discussion(ID, 1, "Allowed")
    assert status_of(other.rename_discussion, ID, 1, "Mine now") == (403, "")
    assert status_of(other.change_discussion_status, ID, 1, "closed") == (403, "")
    assert status_of(other.edit_discussion_comment, ID, 1, said.id, "Ha") == (403, "")
    assert status_of(other.hide_discussion_comment, ID, 1, said.id) == (403, "")
    assert status_of(api_of(bob, Scope.READ).comment_discussion, ID, 1, "Psst") == (403, "")
    assert status_of(api_of().comment_discussion, ID, 1, "Psst")[0] == 401
    assert len(api_of().get_discussion_details(ID, 1).events) == 3


def test_talk_about_what_is_private_is_private(
    api_of: ApiOf, secret: MLModel, alice: User, charlie: User
) -> None:
    api_of(charlie).create_discussion("lab/secret", "Between us")
    api = api_of(alice)
    for call in (
        lambda: list(api.get_repo_discussions("lab/secret")),
        lambda: api.get_discussion_details("lab/secret", 1),
        lambda: api.create_discussion("lab/secret", "Hello"),
        lambda: api.create_pull_request("lab/secret", "Hello"),
        lambda: api.comment_discussion("lab/secret", 1, "Hello"),
    ):
        with pytest.raises(RepositoryNotFoundError):
            call()


def test_what_is_not_there_or_makes_no_sense_is_refused(
    api_of: ApiOf, galaxy: MLModel, alice: User
) -> None:
    api = api_of(alice)
    api.create_discussion(ID, "Hello")
    assert status_of(api.get_discussion_details, ID, 2)[0] == 404
    assert status_of(api.comment_discussion, ID, 99999999999, "Hello")[0] == 404
    assert status_of(api.edit_discussion_comment, ID, 1, "0" * 32, "Hello")[0] == 404
    assert status_of(api.edit_discussion_comment, ID, 1, "zzz", "Hello")[0] == 404
    assert status_of(api.merge_pull_request, ID, 1)[0] in {403, 404}
    for call in (
        lambda: api.create_discussion(ID, "  "),
        lambda: api.create_discussion(ID, "x" * 301),
        lambda: api.comment_discussion(ID, 1, ""),
        lambda: api.comment_discussion(ID, 1, "a\x00b"),
        lambda: api.change_discussion_status(ID, 1, "open"),
    ):
        with pytest.raises(BadRequestError):
            call()
    path = f"models/{ID}/discussions"
    for query in ("?p=-1", "?p=x", "?p=99999999999999", "?type=idea", "?status=merged"):
        assert ask(api, "GET", path + query)[0] == 400
    for body in ("[", "[]", '{"title": 1}', "{}", '{"title": "a", "description": []}'):
        assert ask(api, "POST", path, content=body)[0] == 400
    assert ask(api, "POST", f"{path}/1/status", json={"status": "merged"})[0] == 400
    assert ask(api, "PUT", path)[0] == 405
