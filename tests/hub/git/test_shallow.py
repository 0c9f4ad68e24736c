"""Clones that end somewhere, and how they grow."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from registry.selectors.repository.revision import history, revision_get
from registry.services.repository.ref import ref_create
from registry.states import RefKind
from registry.tables import MLModel, Revision
from tests.factories import commit_files
from tests.hub.git.conftest import Git
from tests.programs import needs

pytestmark = [needs("git"), pytest.mark.slow, pytest.mark.django_db(transaction=True)]

AddressOf = Callable[..., str]


@pytest.fixture(params=["0", "2"])
def any_git(request: pytest.FixtureRequest, git: Git) -> Git:
    """git, speaking protocol 0 or 2."""
    git("config", "--global", "protocol.version", request.param)
    return git


@pytest.fixture
def line(galaxy: MLModel) -> list[Revision]:
    """Eight revisions, newest first."""
    for number in range(6):
        commit_files(galaxy, {f"folder/{number}.txt": str(number)})
    return list(history(galaxy, revision_get(galaxy)))


def count(git: Git, folder: Path, name: str = "origin/main") -> int:
    git("fsck", "--strict", folder=folder)
    return len(git("log", "--format=%H", name, folder=folder).split())


def test_a_shallow_clone_has_one_commit_and_all_of_its_files(
    any_git: Git, address_of: AddressOf, galaxy: MLModel, line: list[Revision]
) -> None:
    folder = any_git.clone(address_of(galaxy), "copy", "--depth", "1")
    assert count(any_git, folder) == 1
    assert sorted(file.name for file in (folder / "folder").iterdir()) == [
        f"{number}.txt" for number in range(6)
    ]
    objects = any_git("rev-list", "--objects", "--all", folder=folder).splitlines()
    # One commit, two trees, files as they are now.
    assert len(objects) == 3 + line[0].files.values("oid").distinct().count()


def test_a_shallow_clone_deepens_step_by_step_to_the_whole(
    any_git: Git, address_of: AddressOf, galaxy: MLModel, line: list[Revision]
) -> None:
    folder = any_git.clone(address_of(galaxy), "copy", "--depth", "1")
    any_git("fetch", "--quiet", "--depth", "3", folder=folder)
    assert count(any_git, folder) == 3
    any_git("fetch", "--quiet", "--deepen", "2", folder=folder)
    assert count(any_git, folder) == 5
    any_git("fetch", "--quiet", "--unshallow", folder=folder)
    assert count(any_git, folder) == len(line) == 8
    assert not (folder / ".git/shallow").exists()


def test_a_shallow_clone_follows_new_commits(
    any_git: Git, address_of: AddressOf, galaxy: MLModel, line: list[Revision]
) -> None:
    folder = any_git.clone(address_of(galaxy), "copy", "--depth", "2")
    commit_files(galaxy, {"folder/0.txt": "newer"})
    any_git("pull", "--quiet", folder=folder)
    assert count(any_git, folder) == 3
    commit_files(galaxy, {"folder/1.txt": "newer still"})
    any_git("fetch", "--quiet", "--depth", "1", folder=folder)
    assert count(any_git, folder) == 1


def test_history_may_end_at_a_time_or_a_name(
    any_git: Git, address_of: AddressOf, galaxy: MLModel, line: list[Revision]
) -> None:
    for age, revision in enumerate(line):
        made = line[0].created_at - timedelta(days=5 + age)
        Revision.objects.filter(pk=revision.pk).update(created_at=made)
    since = (line[0].created_at - timedelta(days=7, hours=12)).isoformat()
    folder = any_git.clone(address_of(galaxy), "recent", f"--shallow-since={since}")
    assert count(any_git, folder) == 3
    ref_create(actor=None, mlmodel=galaxy, kind=RefKind.TAG, name="old", revision=line[5])
    folder = any_git.clone(address_of(galaxy), "after", "--shallow-exclude=old")
    assert count(any_git, folder) == 5
    done = any_git.run("clone", "--shallow-exclude=nothing", address_of(galaxy), "none")
    assert "deepen-not is not a ref: nothing" in done.stderr
    done = any_git.run("clone", "--shallow-since=1.day.ago", address_of(galaxy), "none")
    assert "no commits selected" in done.stderr
