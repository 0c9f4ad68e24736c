"""Commits by the real client."""

import io
from pathlib import Path

import pytest
from django.test import Client
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationCopy,
    CommitOperationDelete,
    CommitScheduler,
)

from registry.selectors.repository.revision import files_of, history, revision_get
from registry.states import JobKind, RefKind
from registry.storage.git import blob_oid, lfs_pointer
from registry.tables import Discussion, MLModel, Revision, User
from tests.factories import make_mlmodel
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.contents import contents, large_paths
from workers.jobs.run import drain

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # The client's own way of calling httpx.
    pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning"),
]

REPO = "alice/net"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to upload, empty; the hub keeps its own things beside it."""
    path = tmp_path / "folder"
    path.mkdir()
    return path


@pytest.fixture
def net(alice: User) -> MLModel:
    """alice's ``alice/net`` of a few files, one of them large."""
    files = {"a.txt": b"a", "data/b.txt": b"b", "data/c.txt": b"c", "w.bin": b"weights"}
    return make_mlmodel(REPO, actor=alice, files=files)


def test_a_file_that_is_no_network_is_kept_as_on_the_hub_and_the_page_says_so(
    api_of: ApiOf, alice: User, client: Client
) -> None:
    api = api_of(alice)
    api.create_repo("alice/odd")
    pickle = b"\x80\x04K\x01."
    api.upload_file(repo_id="alice/odd", path_or_fileobj=pickle, path_in_repo="model.onnx")
    drain([JobKind.INSPECT], here=None)
    mlmodel = MLModel.objects.get(name="odd")
    assert mlmodel.visibility == "public"
    page = client.get("/alice/odd").content.decode()
    assert "cannot be run" in page
    assert "Python pickle" in page


def test_a_file_is_uploaded_from_a_path_from_bytes_and_from_a_stream(
    api_of: ApiOf, alice: User, net: MLModel, tmp_path: Path
) -> None:
    api = api_of(alice)
    (tmp_path / "on-disk").write_bytes(b"from a path")
    sources = {
        "p.txt": tmp_path / "on-disk",
        "b.txt": b"from memory",
        "s.txt": io.BytesIO(b"from a stream"),
        "large.bin": io.BytesIO(b"from a stream, large"),
        "empty.bin": b"",
    }
    for path, source in sources.items():
        made = api.upload_file(repo_id=REPO, path_or_fileobj=source, path_in_repo=path)
        assert made.oid == revision_get(net).oid
        assert made.commit_url == f"{api.endpoint}/{REPO}/commit/{made.oid}"
    assert contents(net) == {
        "a.txt": b"a",
        "data/b.txt": b"b",
        "data/c.txt": b"c",
        "w.bin": b"weights",
        "p.txt": b"from a path",
        "b.txt": b"from memory",
        "s.txt": b"from a stream",
        "large.bin": b"from a stream, large",
        "empty.bin": b"",
    }
    assert large_paths(net) == {"w.bin", "large.bin"}


def test_one_commit_adds_copies_renames_and_deletes(
    api_of: ApiOf, alice: User, net: MLModel
) -> None:
    head = revision_get(net)
    made = api_of(alice).create_commit(
        REPO,
        operations=[
            CommitOperationAdd("a.txt", b"A"),
            CommitOperationAdd("deep/er/n.txt", b"new"),
            CommitOperationAdd("n.bin", b"new weights"),
            CommitOperationCopy("data/b.txt", "copied.txt"),
            CommitOperationCopy("w.bin", "moved.bin", src_revision=head.oid),
            CommitOperationDelete("w.bin"),
            CommitOperationDelete("data/"),
        ],
        commit_message="Change everything",
        commit_description="All at once.\n\nReally.",
        parent_commit=head.oid,
    )
    assert contents(net) == {
        "a.txt": b"A",
        "deep/er/n.txt": b"new",
        "n.bin": b"new weights",
        "copied.txt": b"b",
        "moved.bin": b"weights",
    }
    revision = revision_get(net, "main")
    assert (revision.oid, revision.parent, revision.author) == (made.oid, head, alice)
    assert revision.message == "Change everything\n\nAll at once.\n\nReally."


def test_ids_are_those_the_client_and_git_compute(api_of: ApiOf, alice: User, net: MLModel) -> None:
    api = api_of(alice)
    info = {file.path: file for file in api.list_repo_tree(REPO, recursive=True)}
    assert info["a.txt"].blob_id == blob_oid(b"a")
    large = info["w.bin"]
    assert large.blob_id == blob_oid(lfs_pointer(large.lfs.sha256, 7))
    api.snapshot_download(REPO)
    assert not api.verify_repo_checksums(REPO).mismatches


def test_folders_go_up_and_files_and_folders_are_deleted(
    api_of: ApiOf, alice: User, net: MLModel, folder: Path
) -> None:
    api = api_of(alice)
    for path in ("x/1.txt", "x/2.bin", "x/skip.log", "3.txt"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(path.encode())
    api.upload_folder(
        repo_id=REPO,
        folder_path=folder,
        path_in_repo="up",
        ignore_patterns="*.log",
        delete_patterns="*",
    )
    assert {path for path in contents(net) if path.startswith("up/")} == {
        "up/x/1.txt",
        "up/x/2.bin",
        "up/3.txt",
    }
    api.delete_file("up/3.txt", REPO)
    api.delete_folder("up/x", REPO)
    api.delete_files(REPO, ["data/*"])
    assert set(contents(net)) == {"a.txt", "w.bin"}


def test_a_folder_replaces_what_its_patterns_delete(
    api_of: ApiOf, alice: User, net: MLModel, folder: Path
) -> None:
    (folder / "a.txt").write_bytes(b"anew")
    api_of(alice).upload_folder(repo_id=REPO, folder_path=folder, delete_patterns=["*.txt"])
    assert contents(net) == {"a.txt": b"anew", "w.bin": b"weights"}


def test_what_has_not_changed_makes_no_commit(
    api_of: ApiOf, alice: User, net: MLModel, tmp_path: Path
) -> None:
    api, head = api_of(alice), revision_get(net)
    same = [CommitOperationAdd("a.txt", b"a"), CommitOperationAdd("w.bin", b"weights")]
    made = api.create_commit(REPO, operations=same, commit_message="Nothing")
    assert made.oid == head.oid
    # The client drops files by what it is told of them; here it is not told.
    again = CommitOperationAdd("a.txt", b"a")
    again._upload_mode, again._should_ignore = "regular", False
    assert api.create_commit(REPO, operations=[again], commit_message="Nothing").oid == head.oid
    assert Revision.objects.count() == 2


def test_a_commit_goes_to_the_branch_it_names_also_with_slashes(
    api_of: ApiOf, alice: User, net: MLModel
) -> None:
    api = api_of(alice)
    api.create_branch(REPO, branch="team/idea")
    made = api.upload_file(
        repo_id=REPO, path_or_fileobj=b"x", path_in_repo="x.txt", revision="team/idea"
    )
    assert revision_get(net, "refs/heads/team/idea").oid == made.oid
    assert "x.txt" not in contents(net, "main")


def test_anybody_may_propose_a_commit_as_a_pull_request_and_add_to_it(
    api_of: ApiOf, alice: User, bob: User, net: MLModel
) -> None:
    api, head = api_of(bob), revision_get(net)
    made = api.upload_file(
        repo_id=REPO,
        path_or_fileobj=b"better weights",
        path_in_repo="w.bin",
        commit_message="Better weights",
        commit_description="Trained longer.",
        create_pr=True,
    )
    assert (made.pr_num, made.pr_revision) == (1, "refs/pr/1")
    pull = Discussion.objects.get()
    assert (pull.title, pull.author, pull.target_branch) == ("Better weights", bob, "main")
    assert contents(net, "refs/pr/1")["w.bin"] == b"better weights"
    assert revision_get(net) == head
    api.upload_file(
        repo_id=REPO, path_or_fileobj=b"why", path_in_repo="why.txt", revision="refs/pr/1"
    )
    assert contents(net, "refs/pr/1")["why.txt"] == b"why"
    # The branch's own people may add, too.
    api_of(alice).delete_file("why.txt", REPO, revision="refs/pr/1")
    assert [event.kind for event in pull.events.order_by("pk")][1:] == ["commit"] * 3


def test_a_proposal_builds_on_the_parent_it_names(api_of: ApiOf, bob: User, net: MLModel) -> None:
    first = history(net, revision_get(net)).last()
    assert first is not None
    made = api_of(bob).create_commit(
        REPO,
        operations=[CommitOperationAdd("x.txt", b"x")],
        commit_message="On an old one",
        parent_commit=first.oid,
        create_pr=True,
    )
    assert contents(net, made.pr_revision) == {"x.txt": b"x"}
    assert net.refs.get(kind=RefKind.PULL).revision.parent == first


def test_a_scheduler_uploads_what_is_written_to_its_folder(
    api_of: ApiOf, alice: User, net: MLModel, folder: Path
) -> None:
    (folder / "log.bin").write_bytes(b"line 1\n")
    scheduler = CommitScheduler(
        repo_id=REPO, folder_path=folder, every=1000, path_in_repo="logs", hf_api=api_of(alice)
    )
    scheduler.trigger().result()
    with scheduler.lock, (folder / "log.bin").open("ab") as log:
        log.write(b"line 2\n")
    scheduler.trigger().result()
    scheduler.stop()
    assert contents(net)["logs/log.bin"] == b"line 1\nline 2\n"


def test_a_data_set_takes_commits_alike(api_of: ApiOf, alice: User) -> None:
    api = api_of(alice)
    api.create_repo("alice/set", repo_type="dataset")
    made = api.upload_file(
        repo_id="alice/set",
        repo_type="dataset",
        path_or_fileobj=b"rows",
        path_in_repo="data/train.parquet",
    )
    assert made.commit_url == f"{api.endpoint}/datasets/alice/set/commit/{made.oid}"
    rows = files_of(Revision.objects.get(oid=made.oid))
    assert [(file.path, file.is_lfs) for file in rows if file.path != ".gitattributes"] == [
        ("data/train.parquet", True)
    ]
