"""Branches, tags and histories, through the real client."""

import httpx
import pytest
from huggingface_hub.errors import BadRequestError, HfHubHTTPError, RevisionNotFoundError

from registry.services.repository.ref import ref_create
from registry.states import RefKind, RepositoryKind, Scope
from registry.tables import MLModel, User
from tests.factories import commit_files, make_mlmodel
from tests.hub.hf.conftest import ApiOf

pytestmark = pytest.mark.django_db(transaction=True)

ID = "lab/galaxy-cnn"


def _status(error: pytest.ExceptionInfo[HfHubHTTPError]) -> int:
    return int(error.value.response.status_code)


def test_branches_and_tags_come_and_go(api_of: ApiOf, galaxy: MLModel, charlie: User) -> None:
    api = api_of(charlie)
    head = api.list_repo_refs(ID).branches[0].target_commit
    first = api.list_repo_commits(ID)[-1].commit_id

    api.create_branch(ID, branch="team/idea")
    api.create_branch(ID, branch="old", revision=first)
    api.create_tag(ID, tag="v1/α", revision=head[:7], tag_message="kept by nobody")
    api.create_tag(ID, tag="team/idea", revision="team/idea")

    refs = api.list_repo_refs(ID)
    assert [(ref.name, ref.ref, ref.target_commit) for ref in refs.branches] == [
        ("main", "refs/heads/main", head),
        ("old", "refs/heads/old", first),
        ("team/idea", "refs/heads/team/idea", head),
    ]
    assert [(ref.ref, ref.target_commit) for ref in refs.tags] == [
        ("refs/tags/team/idea", head),
        ("refs/tags/v1/α", head),
    ]
    assert (refs.converts, refs.pull_requests) == ([], None)

    api.delete_branch(ID, branch="team/idea")
    api.delete_branch(ID, branch="old")
    api.delete_tag(ID, tag="v1/α")
    api.delete_tag(ID, tag="team/idea")
    refs = api.list_repo_refs(ID, include_pull_requests=True)
    assert [ref.name for ref in refs.branches] == ["main"]
    assert (refs.tags, refs.pull_requests) == ([], [])


def test_what_exists_is_not_made_again(api_of: ApiOf, galaxy: MLModel, charlie: User) -> None:
    api = api_of(charlie)
    api.create_tag(ID, tag="v1")

    with pytest.raises(HfHubHTTPError, match="Reference refs/heads/main already exists") as branch:
        api.create_branch(ID, branch="main")
    with pytest.raises(HfHubHTTPError, match="Reference refs/tags/v1 already exists") as tag:
        api.create_tag(ID, tag="v1")

    assert (_status(branch), _status(tag)) == (409, 409)
    api.create_branch(ID, branch="main", exist_ok=True)
    api.create_tag(ID, tag="v1", exist_ok=True)


def test_names_git_would_not_take_are_refused(
    api_of: ApiOf, galaxy: MLModel, charlie: User
) -> None:
    for name in ["refs/pr/5", "refs/foo/bar", "a..b", "a b", "end.lock", "é~1"]:
        with pytest.raises(BadRequestError):
            api_of(charlie).create_branch(ID, branch=name)
        with pytest.raises(BadRequestError):
            api_of(charlie).create_tag(ID, tag=name)


def test_what_is_not_there_is_told_by_its_name(
    api_of: ApiOf, galaxy: MLModel, charlie: User
) -> None:
    api = api_of(charlie)

    with pytest.raises(RevisionNotFoundError, match="Invalid rev id: gone"):
        api.delete_branch(ID, branch="gone")
    with pytest.raises(RevisionNotFoundError, match="Invalid rev id: gone"):
        api.delete_tag(ID, tag="gone")
    with pytest.raises(RevisionNotFoundError, match="Invalid rev id: gone"):
        api.create_branch(ID, branch="new", revision="gone")
    with pytest.raises(RevisionNotFoundError, match="Invalid rev id: gone"):
        api.create_tag(ID, tag="new", revision="gone")


def test_the_default_branch_stays(api_of: ApiOf, galaxy: MLModel, charlie: User) -> None:
    with pytest.raises(HfHubHTTPError, match="Cannot delete refs/heads/main") as error:
        api_of(charlie).delete_branch(ID, branch="main")

    assert _status(error) == 403


def test_only_members_with_a_token_for_writing_name_revisions(
    api_of: ApiOf, galaxy: MLModel, charlie: User, bob: User
) -> None:
    for api, status in [
        (api_of(bob), 403),
        (api_of(charlie, Scope.READ), 403),
        (api_of(), 401),
    ]:
        with pytest.raises(HfHubHTTPError) as error:
            api.create_branch(ID, branch="mine")
        assert _status(error) == status
        with pytest.raises(HfHubHTTPError) as error:
            api.create_tag(ID, tag="mine")
        assert _status(error) == status


def test_a_body_that_says_no_tag_is_refused(
    api_of: ApiOf, galaxy: MLModel, charlie: User, hub_url: str
) -> None:
    for body in [b"[]", b'{"tag": 3}', b"{}", b"\xff"]:
        token = str(api_of(charlie).token)
        answer = httpx.post(
            f"{hub_url}/api/models/{ID}/tag/main",
            content=body,
            headers={"Authorization": f"Bearer {token}"},
        )

        assert answer.status_code == 400, body


def test_a_history_is_told_newest_first_through_all_its_pages(
    api_of: ApiOf, galaxy: MLModel, charlie: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hub.hf.history._PAGE", 2)
    for number in range(3):
        message = f"Change <{number}>\n\nBecause & so"
        commit_files(galaxy, {"n.txt": str(number)}, actor=charlie, message=message)
    api = api_of()

    commits = api.list_repo_commits(ID, formatted=True)

    assert [commit.title for commit in commits] == [
        *("Change <2>", "Change <1>", "Change <0>", "Change files", "initial commit")
    ]
    assert commits[0].message == "Because & so"
    assert commits[0].formatted_title == "Change &lt;2&gt;"
    assert commits[0].formatted_message == "Because &amp; so"
    assert commits[0].authors == ["charlie"]
    assert commits[0].created_at.tzinfo is not None
    assert api.list_repo_commits(ID)[0].formatted_title is None


def test_a_branch_has_its_own_history(api_of: ApiOf, galaxy: MLModel, charlie: User) -> None:
    api = api_of(charlie)
    api.create_branch(ID, branch="team/idea")
    commit_files(galaxy, {"x": "1"}, actor=charlie, branch="team/idea", message="There")
    commit_files(galaxy, {"y": "1"}, actor=charlie, message="Here")

    assert next(c.title for c in api.list_repo_commits(ID, revision="team/idea")) == "There"
    assert next(c.title for c in api.list_repo_commits(ID)) == "Here"
    assert [c.title for c in api.list_repo_commits(ID, revision="refs/heads/team/idea")][:2] == [
        *("There", "Change files")
    ]
    with pytest.raises(RevisionNotFoundError):
        api.list_repo_commits(ID, revision="team")


def test_a_history_is_squashed_into_one_commit(
    api_of: ApiOf, galaxy: MLModel, charlie: User, bob: User
) -> None:
    api = api_of(charlie)
    before = api.list_repo_tree(ID, recursive=True)
    old = api.list_repo_commits(ID)[0].commit_id
    api.create_branch(ID, branch="team/idea")
    api.create_tag(ID, tag="v1")
    with pytest.raises(HfHubHTTPError) as error:
        api_of(bob).super_squash_history(ID)
    assert _status(error) == 403

    api.super_squash_history(ID, commit_message="All of it")
    api.super_squash_history(ID, branch="team/idea")

    assert [commit.title for commit in api.list_repo_commits(ID)] == ["All of it"]
    assert len(api.list_repo_commits(ID, revision="team/idea")) == 1
    assert list(api.list_repo_tree(ID, recursive=True)) == list(before)
    assert api.list_repo_commits(ID, revision="v1")[0].commit_id == old
    with pytest.raises(BadRequestError, match="Only a branch"):
        api.super_squash_history(ID, branch="v1")
    with pytest.raises(RevisionNotFoundError, match="Invalid rev id: gone"):
        api.super_squash_history(ID, branch="gone")


def test_data_sets_have_references_too(api_of: ApiOf, lab: object, charlie: User) -> None:
    row = make_mlmodel("lab/stars", actor=charlie, kind=RepositoryKind.DATASET)
    head = row.refs.get().revision
    ref_create(actor=charlie, mlmodel=row, kind=RefKind.TAG, name="v1", revision=head)
    api = api_of(charlie)

    api.create_branch("lab/stars", repo_type="dataset", branch="x", revision="v1")

    refs = api.list_repo_refs("lab/stars", repo_type="dataset")
    assert [ref.name for ref in refs.branches] == ["main", "x"]
    assert len(api.list_repo_commits("lab/stars", repo_type="dataset", revision="v1")) == 1
