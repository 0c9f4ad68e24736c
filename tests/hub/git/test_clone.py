"""``git clone`` and ``git fetch``, in every protocol git speaks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from registry.selectors.fair.description import describe
from registry.selectors.repository.revision import history, revision_get
from registry.selectors.storage.blob import blob_path
from registry.services.repository.mlmodel import mlmodel_create, mlmodel_move
from registry.services.repository.ref import ref_create
from registry.services.repository.revision import squash
from registry.states import RefKind, RepositoryKind
from registry.storage.git import lfs_pointer
from registry.tables import MLModel, User
from tests.factories import commit_files, tiny_onnx
from tests.hub.git.conftest import Git
from tests.programs import needs

pytestmark = [needs("git"), pytest.mark.slow, pytest.mark.django_db(transaction=True)]

AddressOf = Callable[..., str]


@pytest.fixture(params=["0", "2"])
def any_git(request: pytest.FixtureRequest, git: Git) -> Git:
    """git, speaking protocol 0 or 2; protocol 1 is 0 with a line before it."""
    git("config", "--global", "protocol.version", request.param)
    return git


@pytest.fixture
def grown(galaxy: MLModel) -> MLModel:
    """The public model after commits that add, change and delete in several folders."""
    commit_files(galaxy, {"a/b/c.txt": "one", "a/d.txt": "two", "e.txt": "three"})
    commit_files(galaxy, {"a/b/c.txt": "changed"})
    commit_files(galaxy, {"a/b/c.txt": None, "a/b": "a file where a folder was"})
    commit_files(galaxy, {"z/ü ñ.txt": "an unusual name"})
    return galaxy


def log(git: Git, folder: Path, *options: str) -> list[str]:
    return git("log", "--format=%H", *options, folder=folder).split()


@pytest.mark.parametrize("any_git", ["0", "1", "2"], indirect=True)
def test_a_clone_is_the_whole_history_and_git_finds_no_fault(
    any_git: Git, address_of: AddressOf, grown: MLModel
) -> None:
    folder = any_git.clone(address_of(grown), "copy")
    head = revision_get(grown)
    assert log(any_git, folder) == [revision.oid for revision in history(grown, head)]
    assert any_git("symbolic-ref", "refs/remotes/origin/HEAD", folder=folder).endswith("main")
    assert any_git("status", "--porcelain", folder=folder) == ""
    assert (folder / "a/b").read_text() == "a file where a folder was"
    listed = any_git("-c", "core.quotePath=false", "ls-files", folder=folder).splitlines()
    assert listed == sorted(file.path for file in head.files.all())


def test_large_files_are_pointers(git: Git, address_of: AddressOf, galaxy: MLModel) -> None:
    folder = git.clone(address_of(galaxy) + ".git", "copy")
    file = revision_get(galaxy).files.select_related("blob").get(path="model.onnx")
    pointer = lfs_pointer(file.blob.sha256, file.blob.size_bytes)
    assert (folder / "model.onnx").read_bytes() == pointer


def test_software_heritages_names_are_those_of_the_clone_and_of_its_files(
    git: Git, address_of: AddressOf, galaxy: MLModel
) -> None:
    folder = git.clone(address_of(galaxy), "copy")
    head = revision_get(galaxy)
    head.mlmodel = galaxy
    found = describe(head)
    assert found.swhid_revision == f"swh:1:rev:{git('rev-parse', 'HEAD', folder=folder)}"
    tree = git("rev-parse", "HEAD^{tree}", folder=folder)
    assert tree == head.tree_oid

    # As a download has it: the large file itself. No filter for git-lfs is set up here.
    (folder / "model.onnx").write_bytes(tiny_onnx())
    git("add", "--all", folder=folder)
    files = git("write-tree", folder=folder)
    assert found.swhid == f"swh:1:dir:{files}"
    assert files != tree


@pytest.mark.parametrize("any_git", ["0", "1", "2"], indirect=True)
def test_a_fetch_brings_only_what_is_new(
    any_git: Git, address_of: AddressOf, grown: MLModel
) -> None:
    folder = any_git.clone(address_of(grown), "copy")
    before = int(any_git("count-objects", "-v", folder=folder).split("in-pack: ")[1].split()[0])
    commit_files(grown, {"new.txt": "new"})
    commit_files(grown, {"e.txt": None, "a/d.txt": "other"})
    any_git("-c", "fetch.unpackLimit=1", "pull", "--quiet", folder=folder)
    any_git("fsck", "--strict", folder=folder)
    assert log(any_git, folder)[0] == revision_get(grown).oid
    after = int(any_git("count-objects", "-v", folder=folder).split("in-pack: ")[1].split()[0])
    # Two commits, their roots, one folder, two files.
    assert after - before == 7
    any_git("fetch", "--quiet", folder=folder)


def test_branches_tags_and_pull_requests_can_be_had(
    any_git: Git, address_of: AddressOf, grown: MLModel, charlie: User
) -> None:
    first = list(history(grown, revision_get(grown)))[-1]
    ref_create(actor=None, mlmodel=grown, kind=RefKind.BRANCH, name="team/idea", revision=first)
    tip = commit_files(grown, {"idea.txt": "idea"}, branch="team/idea")
    ref_create(actor=None, mlmodel=grown, kind=RefKind.TAG, name="v1", revision=first)
    grown.refs.create(kind=RefKind.PULL, name="7", revision=tip)
    folder = any_git.clone(address_of(grown), "copy")
    assert log(any_git, folder, "origin/team/idea") == [tip.oid, first.oid]
    assert any_git("rev-parse", "v1", folder=folder) == first.oid
    any_git("fetch", "--quiet", "origin", "refs/pr/7", folder=folder)
    assert any_git("rev-parse", "FETCH_HEAD", folder=folder) == tip.oid
    tagged = any_git.clone(address_of(grown), "tagged", "-b", "v1", "--single-branch")
    assert log(any_git, tagged) == [first.oid]
    branch = any_git.clone(address_of(grown), "branch", "-b", "team/idea", "--single-branch")
    assert log(any_git, branch) == [tip.oid, first.oid]


def test_any_revision_can_be_fetched_by_its_id(
    any_git: Git, address_of: AddressOf, grown: MLModel
) -> None:
    middle = list(history(grown, revision_get(grown)))[2]
    any_git("init", "--quiet", "empty")
    folder = any_git.home / "empty"
    any_git("fetch", "--quiet", address_of(grown), middle.oid, folder=folder)
    assert log(any_git, folder, "FETCH_HEAD")[0] == middle.oid
    done = any_git.run("fetch", address_of(grown), "f" * 40, folder=folder)
    assert "not our ref" in done.stderr


def test_a_squashed_history_is_whole_and_the_old_one_too(
    any_git: Git, address_of: AddressOf, grown: MLModel
) -> None:
    folder = any_git.clone(address_of(grown), "copy")
    old = revision_get(grown).oid
    squash(actor=None, mlmodel=grown, branch="main", message="All at once")
    commit_files(grown, {"later.txt": "later"})
    any_git("fetch", "--quiet", folder=folder)
    any_git("fsck", "--strict", folder=folder)
    assert len(log(any_git, folder, "origin/main")) == 2
    fresh = any_git.clone(address_of(grown), "fresh")
    any_git("fetch", "--quiet", "origin", old, folder=fresh)
    any_git("fsck", "--strict", folder=fresh)


def test_data_sets_and_old_names_are_served_too(
    git: Git, address_of: AddressOf, galaxy: MLModel, charlie: User
) -> None:
    stars = mlmodel_create(
        actor=charlie, namespace="lab", name="stars", kind=RepositoryKind.DATASET
    )
    commit_files(stars, {"a.csv": "1,2\n"})
    assert (git.clone(address_of(stars), "stars") / "a.csv").read_text() == "1,2\n"
    old = address_of(galaxy)
    mlmodel_move(actor=charlie, mlmodel=galaxy, namespace="lab", name="nebula-cnn")
    assert (git.clone(old + ".git", "moved") / "model.onnx").exists()


def test_a_file_of_another_network_is_never_sent(
    git: Git, address_of: AddressOf, galaxy: MLModel, secret: MLModel
) -> None:
    hidden = revision_get(secret).oid
    git("init", "--quiet", "empty")
    done = git.run("fetch", address_of(galaxy), hidden, folder=git.home / "empty")
    assert f"not our ref {hidden}" in done.stderr


@needs("git-lfs")
def test_the_true_bytes_come_by_git_lfs(
    git: Git, address_of: AddressOf, secret: MLModel, charlie: User
) -> None:
    git("lfs", "install", "--skip-repo")
    folder = git.clone(address_of(secret, charlie), "copy")
    assert (folder / "model.onnx").read_bytes().startswith(b"version https://git-lfs")
    git("lfs", "pull", folder=folder)
    assert (folder / "model.onnx").read_bytes() == tiny_onnx(features=5)
    git("lfs", "fsck", folder=folder)
    assert git("status", "--porcelain", folder=folder) == ""


def test_a_lost_file_ends_the_clone_with_a_reason(
    git: Git, address_of: AddressOf, galaxy: MLModel, data_dir: Path
) -> None:
    file = revision_get(galaxy).files.get(path="README.md")
    place = blob_path(file.blob)
    assert place is not None
    place.unlink()
    done = git.run("clone", address_of(galaxy), "copy")
    assert done.returncode != 0
    assert file.blob_id in done.stderr
    assert not (git.home / "copy").exists()
