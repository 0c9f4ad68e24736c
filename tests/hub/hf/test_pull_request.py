"""Pull requests with the unmodified client, from the first commit to the merge."""

from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.community import DiscussionCommit, DiscussionStatusChange
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

from registry.services.repository.mlmodel import mlmodel_create
from registry.states import RepositoryKind, Scope
from registry.tables import Job, MLModel, User
from tests.factories import make_mlmodel
from tests.hub.hf.conftest import ApiOf

pytestmark = pytest.mark.django_db(transaction=True)

ID = "alice/net"


@pytest.fixture
def net(alice: User) -> MLModel:
    return make_mlmodel(ID, actor=alice, files={"a.txt": "1\n2\n3\n", "b.txt": "b\n"})


def add(api: HfApi, path: str, text: str, **options: Any) -> Any:
    operation = CommitOperationAdd(path, text.encode())
    given = {"commit_message": f"Change {path}"} | options
    return api.create_commit(ID, [operation], **given)


def read(api: HfApi, path: str, revision: str | None = None) -> str:
    return Path(api.hf_hub_download(ID, path, revision=revision)).read_text()


def status_of(call: Any, *args: Any, **options: Any) -> int:
    with pytest.raises(HfHubHTTPError) as refused:
        call(*args, **options)
    return int(refused.value.response.status_code)


def test_a_change_by_a_stranger_is_proposed_talked_about_and_merged(
    api_of: ApiOf, net: MLModel, bob: User, alice: User
) -> None:
    mine, owner = api_of(bob), api_of(alice)
    made = add(mine, "a.txt", "1\nzwei\n3\n", create_pr=True, commit_description="In German.")
    assert (made.pr_revision, made.pr_num) == ("refs/pr/1", 1)
    assert made.pr_url.endswith(f"/{ID}/discussions/1")
    more = mine.create_commit(
        ID,
        [CommitOperationDelete("b.txt"), CommitOperationAdd("c.txt", b"c\n")],
        commit_message="Tidy",
        revision="refs/pr/1",
    )

    found = owner.get_discussion_details(ID, 1)
    assert (found.title, found.status, found.author) == ("Change a.txt", "open", "bob")
    assert (found.target_branch, found.conflicting_files) == ("refs/heads/main", [])
    commits = [event for event in found.events if isinstance(event, DiscussionCommit)]
    assert [(event.summary, event.oid) for event in commits] == [
        ("Change a.txt", made.oid),
        ("Tidy", more.oid),
    ]
    assert found.diff is not None
    assert "-2\n+zwei\n" in found.diff
    assert "deleted file mode 100644" in found.diff

    assert read(owner, "a.txt", "refs/pr/1") == "1\nzwei\n3\n"
    assert read(owner, "a.txt") == "1\n2\n3\n"
    assert sorted(owner.list_repo_files(ID, revision="refs/pr/1")) == [
        ".gitattributes", "a.txt", "c.txt",
    ]  # fmt: skip
    refs = owner.list_repo_refs(ID, include_pull_requests=True)
    assert [(ref.ref, ref.target_commit) for ref in refs.pull_requests or []] == [
        ("refs/pr/1", more.oid)
    ]

    assert status_of(mine.merge_pull_request, ID, 1) == 403
    add(owner, "d.txt", "d\n")
    owner.merge_pull_request(ID, 1, comment="Danke")
    after = owner.get_discussion_details(ID, 1)
    assert after.status == "merged"
    assert after.merge_commit_oid == owner.repo_info(ID).sha
    assert isinstance(after.events[-1], DiscussionStatusChange)
    assert read(owner, "a.txt") == "1\nzwei\n3\n"
    assert sorted(owner.list_repo_files(ID)) == [".gitattributes", "a.txt", "c.txt", "d.txt"]
    newest = owner.list_repo_commits(ID)[0]
    assert (newest.title, newest.authors) == ("Change a.txt (#1)", ["alice"])
    assert status_of(add, mine, "e.txt", "e", revision="refs/pr/1") == 409
    assert status_of(owner.merge_pull_request, ID, 1) == 409
    assert status_of(owner.change_discussion_status, ID, 1, "open") == 409


def test_a_draft_is_filled_and_published(api_of: ApiOf, net: MLModel, bob: User) -> None:
    api = api_of(bob)
    made = api.create_pull_request(ID, "Better", description="Soon.")
    assert (made.status, made.git_reference, made.diff) == ("draft", "refs/pr/1", "")
    add(api, "a.txt", "x", revision=made.git_reference)
    assert api.change_discussion_status(ID, 1, "open").new_status == "open"
    assert api.get_discussion_details(ID, 1).status == "open"


def test_a_folder_with_large_files_is_proposed(
    api_of: ApiOf, net: MLModel, bob: User, tmp_path: Path
) -> None:
    weights = bytes(range(256)) * 300
    (tmp_path / "up" / "sub").mkdir(parents=True)
    (tmp_path / "up" / "model.safetensors").write_bytes(weights)
    (tmp_path / "up" / "sub" / "notes.txt").write_text("Hello")
    api = api_of(bob)
    made = api.upload_folder(repo_id=ID, folder_path=tmp_path / "up", create_pr=True)
    assert made.pr_num == 1
    path = api.hf_hub_download(ID, "model.safetensors", revision="refs/pr/1")
    assert Path(path).read_bytes() == weights
    assert read(api, "sub/notes.txt", "refs/pr/1") == "Hello"
    diff = api.get_discussion_details(ID, 1).diff or ""
    assert "Binary files /dev/null and b/model.safetensors differ" in diff
    assert not Job.objects.exists()


def test_what_both_changed_is_named_and_not_merged(
    api_of: ApiOf, net: MLModel, alice: User, bob: User
) -> None:
    mine, owner = api_of(bob), api_of(alice)
    add(mine, "a.txt", "mine", create_pr=True)
    ours = add(owner, "a.txt", "ours")
    assert owner.get_discussion_details(ID, 1).conflicting_files == ["a.txt"]
    with pytest.raises(HfHubHTTPError, match=r"a\.txt") as refused:
        owner.merge_pull_request(ID, 1)
    assert refused.value.response.status_code == 409
    assert owner.repo_info(ID).sha == ours.oid
    add(mine, "a.txt", "ours", revision="refs/pr/1")
    add(mine, "new.txt", "new", revision="refs/pr/1")
    owner.merge_pull_request(ID, 1)
    assert read(owner, "new.txt") == "new"


def test_who_may_add_to_a_pull_request(
    api_of: ApiOf, net: MLModel, alice: User, bob: User, charlie: User
) -> None:
    add(api_of(bob), "a.txt", "bob", create_pr=True)
    add(api_of(alice), "a.txt", "alice", revision="refs/pr/1")
    assert status_of(add, api_of(charlie), "a.txt", "charlie", revision="refs/pr/1") == 403
    assert status_of(add, api_of(bob), "a.txt", "bob") == 403
    assert status_of(add, api_of(bob, Scope.READ), "a.txt", "bob", create_pr=True) == 403
    assert status_of(add, api_of(), "a.txt", "nobody", create_pr=True) == 401
    with pytest.raises(RevisionNotFoundError):
        add(api_of(alice), "a.txt", "alice", revision="refs/pr/2")
    assert read(api_of(), "a.txt", "refs/pr/1") == "alice"


def test_a_stranger_cannot_propose_to_what_is_private(
    api_of: ApiOf, secret: MLModel, alice: User
) -> None:
    api = api_of(alice)
    operation = [CommitOperationAdd("a.txt", b"a")]
    with pytest.raises(RepositoryNotFoundError):
        api.create_commit("lab/secret", operation, commit_message="Hello", create_pr=True)
    with pytest.raises(RepositoryNotFoundError):
        api.merge_pull_request("lab/secret", 1)


def test_changes_to_data_sets_are_proposed_too(api_of: ApiOf, alice: User, bob: User) -> None:
    mlmodel_create(actor=alice, namespace="alice", name="stars", kind=RepositoryKind.DATASET)
    made = api_of(bob).upload_file(
        path_or_fileobj=b"a,b\n1,2\n",
        path_in_repo="data.csv",
        repo_id="alice/stars",
        repo_type="dataset",
        create_pr=True,
    )
    assert made.pr_num == 1
    api_of(alice).merge_pull_request("alice/stars", 1, repo_type="dataset")
    assert "data.csv" in api_of().list_repo_files("alice/stars", repo_type="dataset")


def test_only_branches_take_proposals(api_of: ApiOf, net: MLModel, alice: User, bob: User) -> None:
    api_of(alice).create_tag(ID, tag="v1")
    mine, oid = api_of(bob), net.refs.get(name="main").revision.oid
    add(mine, "a.txt", "mine", create_pr=True)
    for revision in [oid, oid[:8], "v1", "missing", "refs/pr/1", "refs/pr/7"]:
        with pytest.raises(RevisionNotFoundError):
            add(mine, "a.txt", "mine", create_pr=True, revision=revision)
        with pytest.raises(RevisionNotFoundError):
            add(mine, "a.bin", "large", create_pr=True, revision=revision)
    assert net.discussions.count() == 1
    for revision in ["main", "refs/heads/main"]:
        made = add(mine, "a.txt", revision, create_pr=True, revision=revision)
        details = mine.get_discussion_details(ID, made.pr_num)
        assert details.target_branch == "refs/heads/main"


def test_a_squashed_pull_request_is_one_commit_and_merges(
    api_of: ApiOf, net: MLModel, alice: User, bob: User
) -> None:
    mine, owner = api_of(bob), api_of(alice)
    add(mine, "a.txt", "1\nzwei\n3\n", create_pr=True)
    add(mine, "c.txt", "c", revision="refs/pr/1")
    add(owner, "b.txt", "changed meanwhile")
    mine.super_squash_history(ID, branch="refs/pr/1", commit_message="At once")
    commits = mine.list_repo_commits(ID, revision="refs/pr/1")
    assert [commit.title for commit in commits] == ["At once"]
    actual = mine.get_discussion_details(ID, 1)
    assert actual.conflicting_files == []
    assert [line for line in (actual.diff or "").splitlines() if line[:4] == "diff"] == [
        "diff --git a/a.txt b/a.txt",
        "diff --git a/c.txt b/c.txt",
    ]
    owner.merge_pull_request(ID, 1)
    assert read(owner, "a.txt") == "1\nzwei\n3\n"
    assert read(owner, "b.txt") == "changed meanwhile"
