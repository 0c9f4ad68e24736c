"""Discussions and pull requests in the browser."""

import re
from html import unescape

import pytest
from django.test import Client

from registry.services.discussion.comment import comment_add
from registry.services.discussion.discussion import (
    discussion_change,
    discussion_open,
    pull_request_open,
)
from registry.states import DiscussionState, RefKind
from registry.tables import Discussion, DiscussionEvent, MLModel, User
from tests.factories import commit_files
from tests.hub.pages.test_reading import status, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cast")]

ROOT = "/lab/galaxy-cnn/discussions"


@pytest.fixture
def talk(galaxy: MLModel, alice: User) -> Discussion:
    """Discussion 1, opened by alice, who may not write."""
    told = {"title": "Which survey?", "description": "From **where**? <script>alert(1)</script>"}
    return discussion_open(actor=alice, mlmodel=galaxy, **told)


@pytest.fixture
def pull(talk: Discussion, galaxy: MLModel, alice: User) -> Discussion:
    """Pull request 2 of alice's, with one commit."""
    made = pull_request_open(actor=alice, mlmodel=galaxy, title="Name the survey")
    commit_files(galaxy, {"survey.txt": "SDSS\n"}, actor=alice, branch="refs/pr/2", message="Add")
    return made


def state_of(discussion: Discussion) -> str:
    return Discussion.objects.get(pk=discussion.pk).state


def test_a_discussion_shows_its_comments_rendered_and_safe(
    client: Client, talk: Discussion
) -> None:
    page = text(client, f"{ROOT}/1")
    assert "<strong>where</strong>" in page
    assert "<script>alert" not in page
    assert "Sign in</a> to comment" in page


def test_the_list_is_narrowed_by_state_kind_and_author(
    client: Client, pull: Discussion, talk: Discussion, charlie: User
) -> None:
    assert "Which survey?" in text(client, ROOT)
    assert "Which survey?" not in text(client, f"{ROOT}?kind=pull_request")
    assert "Name the survey" in text(client, f"{ROOT}?kind=pull_request")
    assert "Which survey?" not in text(client, f"{ROOT}?author=charlie")
    discussion_change(actor=charlie, discussion=talk, state=DiscussionState.CLOSED)
    assert "Which survey?" not in text(client, ROOT)
    assert "Which survey?" in text(client, f"{ROOT}?state=closed")
    assert status(client, f"{ROOT}?kind=x") == 400


def test_a_long_list_goes_on(client: Client, galaxy: MLModel, alice: User) -> None:
    for number in range(32):
        discussion_open(actor=alice, mlmodel=galaxy, title=f"Question {number:02}")
    page = text(client, ROOT)
    assert "Question 31" in page
    assert "Question 01" not in page
    older = re.search(r'href="(\?[^"]*before=[^"]+)"', page)
    assert older
    assert "Question 01" in text(client, ROOT + unescape(older[1]))


def test_somebody_signed_in_opens_a_discussion(client: Client, galaxy: MLModel, bob: User) -> None:
    client.force_login(bob)
    answer = client.post(f"{ROOT}/new", {"title": "Hello", "description": "I wonder."})
    assert answer["Location"] == f"{ROOT}/1"
    assert "I wonder." in text(client, f"{ROOT}/1")
    assert client.post(f"{ROOT}/new", {"title": " "}).status_code == 400


def test_a_branch_is_proposed_as_a_pull_request(
    client: Client, galaxy: MLModel, charlie: User
) -> None:
    head = galaxy.refs.get(name="main").revision
    galaxy.refs.create(kind=RefKind.BRANCH, name="idea", revision=head)
    commit_files(galaxy, {"idea.txt": "an idea\n"}, actor=charlie, branch="idea")
    client.force_login(charlie)
    answer = client.post(f"{ROOT}/new", {"title": "An idea", "branch": "idea"})
    assert "+an idea" in text(client, f"{answer['Location']}/changes")


def test_comments_are_added_edited_and_hidden_by_who_wrote_them(
    client: Client, talk: Discussion, alice: User
) -> None:
    client.force_login(alice)
    answer = client.post(f"{ROOT}/1/comment", {"text": "I found it."})
    said = DiscussionEvent.objects.get(text="I found it.")
    assert answer["Location"] == f"{ROOT}/1#event-{said.uuid}"
    address = f"{ROOT}/1/comments/{said.uuid}"
    assert "I found it." in text(client, f"{address}/edit")
    client.post(f"{address}/edit", {"text": "I found it at last."})
    assert "I found it at last." in text(client, f"{ROOT}/1")
    client.post(f"{address}/hide")
    page = text(client, f"{ROOT}/1")
    assert "This comment was hidden" in page
    assert "at last" not in page


def test_a_comment_that_cannot_be_taken_comes_back(
    client: Client, talk: Discussion, alice: User
) -> None:
    client.force_login(alice)
    answer = client.post(f"{ROOT}/1/comment", {"text": "a" * 70_000})
    assert answer.status_code == 400
    assert "longer than" in answer.content.decode()
    assert "a" * 70_000 in answer.content.decode()


def test_titles_and_states_are_changed_by_writers(
    client: Client, talk: Discussion, charlie: User
) -> None:
    client.force_login(charlie)
    client.post(f"{ROOT}/1/rename", {"title": "Which <survey>?"})
    assert "renamed it from <s>Which survey?</s> to Which &lt;survey&gt;?" in text(
        client, f"{ROOT}/1"
    )
    client.post(f"{ROOT}/1/change", {"state": "closed"})
    assert state_of(talk) == "closed"
    client.post(f"{ROOT}/1/change", {"state": "open"})
    assert state_of(talk) == "open"
    again = client.post(f"{ROOT}/1/change", {"state": "merged"}, follow=True)
    assert "made open or closed" in again.content.decode()


def test_a_pull_request_shows_its_changes_and_is_merged(
    client: Client, pull: Discussion, galaxy: MLModel, charlie: User
) -> None:
    assert "+SDSS" in text(client, f"{ROOT}/2/changes")
    assert "committed" in text(client, f"{ROOT}/2")
    client.force_login(charlie)
    assert client.post(f"{ROOT}/2/merge").status_code == 302
    assert state_of(pull) == "merged"
    assert "SDSS" in text(client, "/lab/galaxy-cnn/blob/main/survey.txt")
    assert "+SDSS" in text(client, f"{ROOT}/2/changes")
    assert client.post(f"{ROOT}/2/merge").status_code == 409


def test_conflicting_paths_are_listed_instead_of_a_merge_button(
    client: Client, pull: Discussion, galaxy: MLModel, charlie: User
) -> None:
    commit_files(galaxy, {"survey.txt": "DECaLS\n"}, actor=charlie)
    client.force_login(charlie)
    page = text(client, f"{ROOT}/2")
    assert "<code>survey.txt</code>" in page
    assert "/2/merge" not in page
    answer = client.post(f"{ROOT}/2/merge")
    assert answer.status_code == 409
    assert "both changed" in answer.content.decode()
    assert state_of(pull) == "open"


def test_a_discussion_has_no_changes_and_unknown_ones_are_not_there(
    client: Client, talk: Discussion
) -> None:
    assert status(client, f"{ROOT}/1/changes") == 400
    assert status(client, f"{ROOT}/9") == 404
    assert status(client, f"{ROOT}/99999999999999999999") == 404


@pytest.mark.parametrize(
    ("tail", "form", "allowed"),
    [
        ("1/comment", {"text": "Mine"}, True),
        ("1/rename", {"title": "Mine"}, False),
        ("1/change", {"state": "closed"}, False),
        ("2/merge", {}, False),
        ("1/comments/{comment}/edit", {"text": "Mine"}, False),
        ("1/comments/{comment}/hide", {}, False),
    ],
)
def test_who_may_not_write_may_talk_but_change_nothing(
    client: Client, pull: Discussion, talk: Discussion, bob: User,
    tail: str, form: dict[str, str], *, allowed: bool,
) -> None:  # fmt: skip
    comment = talk.events.get()
    path = f"{ROOT}/{tail.format(comment=comment.uuid)}"
    before = (talk.title, state_of(talk), state_of(pull), comment.text)
    answer = client.post(path, form)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login")
    client.force_login(bob)
    assert client.post(path, form).status_code == (302 if allowed else 403)
    talk.refresh_from_db()
    comment.refresh_from_db()
    assert (talk.title, state_of(talk), state_of(pull), comment.text) == before


@pytest.mark.parametrize("tail", ["1/comment", "1/rename", "1/change", "2/merge", "new"])
def test_forms_are_refused_without_a_csrf_token(pull: Discussion, charlie: User, tail: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(charlie)
    form = {"text": "x", "title": "x", "state": "closed"}
    assert client.post(f"{ROOT}/{tail}", form).status_code == 403


def test_talk_about_what_is_private_is_not_there_for_strangers(
    client: Client, secret: MLModel, charlie: User, alice: User
) -> None:
    found = discussion_open(actor=charlie, mlmodel=secret, title="Quiet")
    comment_add(actor=charlie, discussion=found, text="Shh.")
    client.force_login(alice)
    for tail in ("", "/1", "/new"):
        assert status(client, f"/lab/secret/discussions{tail}") == 404
    assert client.post("/lab/secret/discussions/1/comment", {"text": "x"}).status_code == 404
