"""Talking about an MLModel: who may, and what is kept."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection

from registry.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from registry.selectors.access import Actor
from registry.selectors.discussion.discussion import (
    comment_get,
    discussion_get,
    discussions_of,
    events_of,
)
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import branch_get, revision_get
from registry.services.discussion.comment import comment_add, comment_edit, comment_hide
from registry.services.discussion.discussion import (
    discussion_change,
    discussion_open,
    discussion_rename,
    pull_request_open,
)
from registry.services.people.token import authenticate
from registry.states import DiscussionState, EventKind, Scope
from registry.tables import AuditEntry, Discussion, MLModel, Namespace, User
from tests.factories import commit_files, make_mlmodel, make_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def talk(galaxy: MLModel, alice: User) -> Discussion:
    """What alice opened about ``lab/galaxy-cnn``."""
    return discussion_open(actor=alice, mlmodel=galaxy, title="Which data?", description="I ask.")


def told(discussion: Discussion) -> list[tuple[str, str, str]]:
    return [(event.kind, event.text, event.before) for event in events_of(discussion)]


def test_discussions_and_pull_requests_are_numbered_together(galaxy: MLModel, alice: User) -> None:
    discussion_open(actor=alice, mlmodel=galaxy, title="One")
    pull = pull_request_open(actor=alice, mlmodel=galaxy, title="Two", draft=True)
    discussion_open(actor=alice, mlmodel=galaxy, title="Three")

    assert [row.num for row in discussions_of(galaxy)] == [3, 2, 1]
    assert (pull.num, pull.state, pull.target_branch) == (2, DiscussionState.DRAFT, "main")
    line = branch_get(galaxy, "refs/pr/2")
    assert line.revision == revision_get(galaxy)


def test_lists_can_be_of_a_kind_a_state_or_a_person(
    galaxy: MLModel, alice: User, bob: User
) -> None:
    closed = discussion_open(actor=alice, mlmodel=galaxy, title="One")
    discussion_change(actor=alice, discussion=closed, state="closed")
    pull_request_open(actor=bob, mlmodel=galaxy, title="Two", draft=True)

    def nums(**options: str) -> list[int]:
        return [row.num for row in discussions_of(galaxy, **options)]  # type: ignore[arg-type]

    assert nums(kind="pull_request") == nums(state="open") == nums(author="BOB") == [2]
    assert nums(kind="discussion") == nums(state="closed") == nums(author="alice") == [1]
    assert nums(author="nobody") == nums(author="\x00") == []


def test_everything_that_happens_is_told_and_audited(talk: Discussion, alice: User) -> None:
    discussion_rename(actor=alice, discussion=talk, title="Which data set?")
    discussion_change(actor=alice, discussion=talk, state="closed", comment="Found it.")
    discussion_change(actor=alice, discussion=talk, state="open")

    assert told(talk) == [
        ("comment", "I ask.", ""),
        ("title-change", "Which data set?", "Which data?"),
        ("comment", "Found it.", ""),
        ("status-change", "closed", "open"),
        ("status-change", "open", "closed"),
    ]
    again = discussion_get(talk.mlmodel, talk.num)
    assert (again.title, again.state) == ("Which data set?", DiscussionState.OPEN)
    entries = AuditEntry.objects.filter(subject="lab/galaxy-cnn#1", actor=alice)
    assert [entry.action for entry in entries.order_by("pk")] == [
        "discussion.open",
        "discussion.rename",
        "discussion.state",
        "discussion.state",
    ]


def test_a_comment_is_edited_by_its_author_and_its_old_words_are_gone(
    talk: Discussion, alice: User, charlie: User
) -> None:
    comment = comment_add(actor=charlie, discussion=talk, text="Look\r\nhere.")
    with pytest.raises(Forbidden, match="Only who wrote"):
        comment_edit(actor=alice, discussion=talk, comment_uuid=comment.uuid, text="Ha")
    comment_edit(actor=charlie, discussion=talk, comment_uuid=comment.uuid, text="Look there.")

    after = comment_get(talk, comment.uuid)
    assert (after.text, after.before) == ("Look there.", "")
    assert after.edited_at is not None


def test_a_hidden_comment_says_nothing_any_more(
    talk: Discussion, alice: User, bob: User, charlie: User
) -> None:
    comment = comment_add(actor=alice, discussion=talk, text="My password is hunter2")
    with pytest.raises(Forbidden):
        comment_hide(actor=bob, discussion=talk, comment_uuid=comment.uuid)
    comment_hide(actor=charlie, discussion=talk, comment_uuid=comment.uuid)

    comment.refresh_from_db()
    assert comment.text == ""
    with pytest.raises(NotFound):
        comment_edit(actor=alice, discussion=talk, comment_uuid=comment.uuid, text="Back")


def test_strangers_may_talk_but_not_end_what_others_began(
    talk: Discussion, bob: User, charlie: User
) -> None:
    comment_add(actor=bob, discussion=talk, text="Me too.")
    for attempt in (
        lambda: discussion_rename(actor=bob, discussion=talk, title="Mine"),
        lambda: discussion_change(actor=bob, discussion=talk, state="closed"),
    ):
        with pytest.raises(Forbidden) as refused:
            attempt()
        assert refused.value.code == "permission_denied"
    discussion_change(actor=charlie, discussion=talk, state="closed")


def test_who_may_not_read_may_not_talk(secret: MLModel, alice: User) -> None:
    for actor, kind in ((alice, NotFound), (AnonymousUser(), Unauthenticated)):
        with pytest.raises(kind):
            discussion_open(actor=actor, mlmodel=secret, title="Hello")
        with pytest.raises(kind):
            pull_request_open(actor=actor, mlmodel=secret, title="Hello")


def test_a_token_talks_only_with_the_scope_and_where_it_is_for(
    galaxy: MLModel, alice: User, charlie: User, lab: Namespace
) -> None:
    make_mlmodel("alice/net", actor=alice)

    def actor(user: User, scope: Scope, namespace: Namespace | None = None) -> Actor:
        return authenticate(secret=make_token(user, scope, namespace=namespace))

    with pytest.raises(Forbidden, match="scope"):
        discussion_open(actor=actor(alice, Scope.READ), mlmodel=galaxy, title="Hello")
    limited = actor(charlie, Scope.WRITE, lab)
    discussion_open(actor=limited, mlmodel=galaxy, title="Hello")
    with pytest.raises(Forbidden, match="another namespace"):
        discussion_open(actor=limited, mlmodel=mlmodel_get(None, "alice/net"), title="Hello")


@pytest.mark.parametrize("title", ["", "  ", "x" * 301, "a\nb", "a\x00b", "\ud800"])
def test_a_title_is_one_line_of_bounded_length(galaxy: MLModel, alice: User, title: str) -> None:
    with pytest.raises(Invalid) as refused:
        discussion_open(actor=alice, mlmodel=galaxy, title=title)
    assert refused.value.code == "invalid_request"


@pytest.mark.parametrize("text", ["", " \n", "x" * 65_537, "a\x00b", "\ud800"])
def test_a_comment_is_text_of_bounded_length(talk: Discussion, alice: User, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        comment_add(actor=alice, discussion=talk, text=text)
    assert refused.value.code == "invalid_request"


@pytest.mark.parametrize("state", ["open", "merged", "draft", "gone", ""])
def test_only_a_change_that_is_one_changes_the_state(
    talk: Discussion, alice: User, state: str
) -> None:
    with pytest.raises(Invalid):
        discussion_change(actor=alice, discussion=talk, state=state)
    assert discussion_get(talk.mlmodel, 1).state == DiscussionState.OPEN


def test_a_pull_request_wants_a_branch_and_a_revision_of_this_model(
    galaxy: MLModel, alice: User
) -> None:
    other = make_mlmodel("alice/net", actor=alice)
    pull_request_open(actor=alice, mlmodel=galaxy, title="First")
    with pytest.raises(NotFound):
        pull_request_open(actor=alice, mlmodel=galaxy, title="No branch", branch="nowhere")
    with pytest.raises(Invalid):
        pull_request_open(actor=alice, mlmodel=galaxy, title="On one", branch="refs/pr/1")
    start = revision_get(other)
    with pytest.raises(NotFound):
        pull_request_open(actor=alice, mlmodel=galaxy, title="Not ours", start=start)
    assert discussions_of(galaxy).count() == 1


def test_a_pull_request_may_start_at_an_older_revision(galaxy: MLModel, alice: User) -> None:
    old = revision_get(galaxy)
    commit_files(galaxy, {"new": "1"})
    pull_request_open(actor=alice, mlmodel=galaxy, title="From before", start=old)
    assert branch_get(galaxy, "refs/pr/1").revision == old


def test_commits_to_the_line_are_told_until_it_is_closed(
    galaxy: MLModel, alice: User, bob: User
) -> None:
    pull = pull_request_open(actor=alice, mlmodel=galaxy, title="Change")
    made = commit_files(galaxy, {"a": "1"}, actor=alice, branch="refs/pr/1", message="Add a\n\nYes")
    with pytest.raises(Forbidden):
        commit_files(galaxy, {"b": "1"}, actor=bob, branch="refs/pr/1")
    discussion_change(actor=alice, discussion=pull, state="closed")
    with pytest.raises(Conflict) as refused:
        commit_files(galaxy, {"b": "1"}, actor=alice, branch="refs/pr/1")

    assert refused.value.code == "discussion_closed"
    assert told(pull) == [
        (EventKind.COMMIT, "Add a", made.oid),
        (EventKind.STATUS, "closed", "open"),
    ]


@pytest.mark.parametrize("num", [0, -1, 2, 10**30])
def test_a_discussion_that_is_not_there_is_not_found(talk: Discussion, num: int) -> None:
    with pytest.raises(NotFound) as refused:
        discussion_get(talk.mlmodel, num)
    assert refused.value.code == "discussion_not_found"


@pytest.mark.django_db(transaction=True)
def test_people_who_open_at_once_get_different_numbers(galaxy: MLModel, alice: User) -> None:
    def open_one(number: int) -> int:
        try:
            row = discussion_open(actor=alice, mlmodel=galaxy, title=f"Number {number}")
            return row.num
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        nums = list(pool.map(open_one, range(12)))
    assert sorted(nums) == list(range(1, 13))
