"""Discussions and pull requests."""

from huggingface_hub import CommitOperationAdd
from huggingface_hub.errors import HfHubHTTPError

from tests.clients.verbs.context import Context, refused
from tests.clients.verbs.table import works

AREA = "Discussions and pull requests"


def _pull_request(of: Context) -> str:
    """A repository whose pull request 1 adds a file."""
    name = of.repo()
    add = [CommitOperationAdd("a.txt", b"a")]
    of.api.create_commit(name, add, commit_message="Add", create_pr=True)
    return name


@works("create_discussion", AREA, "")
def create_discussion(of: Context) -> None:
    name = of.repo()
    made = of.bob.create_discussion(name, title="A question", description="Which units?")
    assert (made.num, made.author, made.status) == (1, "bob", "open")


@works("create_pull_request", AREA, "")
def create_pull_request(of: Context) -> None:
    name = of.repo()
    made = of.bob.create_pull_request(name, title="An idea")
    assert made.is_pull_request
    assert made.status == "draft"


@works("get_repo_discussions", AREA, "")
def get_repo_discussions(of: Context) -> None:
    name = _pull_request(of)
    of.bob.create_discussion(name, title="A question")
    assert {row.num for row in of.api.get_repo_discussions(name)} == {1, 2}
    kinds = of.api.get_repo_discussions(name, discussion_type="pull_request", author="alice")
    assert [row.num for row in kinds] == [1]
    assert not list(of.api.get_repo_discussions(name, discussion_status="closed"))


@works("get_discussion_details", AREA, "With the diff and the conflicts of a pull request.")
def get_discussion_details(of: Context) -> None:
    name = _pull_request(of)
    details = of.api.get_discussion_details(name, 1)
    assert details.target_branch == "refs/heads/main"
    assert "a.txt" in details.diff
    assert not details.conflicting_files
    refused(HfHubHTTPError, lambda: of.api.get_discussion_details(name, 99), status=404)


@works("comment_discussion", AREA, "")
def comment_discussion(of: Context) -> None:
    name = _pull_request(of)
    comment = of.bob.comment_discussion(name, 1, comment="Good.")
    assert (comment.content, comment.author) == ("Good.", "bob")


@works("edit_discussion_comment", AREA, "Of one's own comments.")
def edit_discussion_comment(of: Context) -> None:
    name = _pull_request(of)
    comment = of.bob.comment_discussion(name, 1, comment="Good.")
    edited = of.bob.edit_discussion_comment(name, 1, comment.id, new_content="Better.")
    assert edited.edited
    assert edited.content == "Better."
    refused(
        HfHubHTTPError,
        lambda: of.charlie.edit_discussion_comment(name, 1, comment.id, new_content="Bad."),
        status=403,
    )


@works("hide_discussion_comment", AREA, "Cannot be undone.")
def hide_discussion_comment(of: Context) -> None:
    name = _pull_request(of)
    comment = of.bob.comment_discussion(name, 1, comment="Good.")
    assert of.api.hide_discussion_comment(name, 1, comment.id).hidden


@works("rename_discussion", AREA, "")
def rename_discussion(of: Context) -> None:
    name = _pull_request(of)
    assert of.api.rename_discussion(name, 1, new_title="A file").new_title == "A file"
    refused(
        HfHubHTTPError,
        lambda: of.charlie.rename_discussion(name, 1, new_title="Bad"),
        status=403,
    )


@works("change_discussion_status", AREA, "")
def change_discussion_status(of: Context) -> None:
    name = _pull_request(of)
    assert of.api.change_discussion_status(name, 1, "closed").new_status == "closed"
    assert of.api.get_discussion_details(name, 1).status == "closed"
    refused(
        HfHubHTTPError, lambda: of.charlie.change_discussion_status(name, 1, "open"), status=403
    )


@works("merge_pull_request", AREA, "Refused where files conflict.")
def merge_pull_request(of: Context) -> None:
    name = _pull_request(of)
    refused(HfHubHTTPError, lambda: of.bob.merge_pull_request(name, 1), status=403)
    of.api.merge_pull_request(name, 1)
    assert of.api.file_exists(name, "a.txt")
    assert of.api.get_discussion_details(name, 1).status == "merged"
