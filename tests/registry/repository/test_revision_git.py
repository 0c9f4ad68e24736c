"""A model's revisions are a git repository: git agrees with every id and finds no fault."""

import os
import subprocess
from pathlib import Path

import pytest
from django.utils import timezone

from registry.selectors.repository.revision import files_of, history, revision_get
from registry.selectors.storage.blob import blob_open
from registry.services.repository.ref import ref_create
from registry.states import RefKind
from registry.storage.git import lfs_pointer
from registry.tables import File, MLModel, Revision, User
from tests.factories import commit_files, make_mlmodel, make_user, readme, tiny_onnx
from tests.programs import needs

pytestmark = needs("git")


class Clone:
    """A git repository filled from the hub's rows alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--quiet", "--bare", ".")

    def git(self, *arguments: str, data: bytes = b"") -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GIT_INDEX_FILE": str(self.folder / "index"),
        }
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            input=data,
            capture_output=True,
            check=True,
            env=environment,
        )
        return (done.stdout + done.stderr).decode().strip()

    def add(self, revision: Revision) -> str:
        """Write all objects of ``revision``; the commit's id, as git sees it."""
        self.git("read-tree", "--empty")
        for file in files_of(revision):
            oid = self.git("hash-object", "-w", "--stdin", data=self.content(file))
            assert oid == file.oid
            self.git("update-index", "--add", "--cacheinfo", f"100644,{oid},{file.path}")
        assert self.git("write-tree") == revision.tree_oid
        parent = f"parent {revision.parent.oid}\n" if revision.parent else ""
        text = (
            f"tree {revision.tree_oid}\n{parent}author {revision.author_line}\n"
            f"committer {revision.author_line}\n\n{revision.message}\n"
        )
        return self.git("hash-object", "-w", "-t", "commit", "--stdin", data=text.encode())

    def content(self, file: File) -> bytes:
        if file.is_lfs:
            return lfs_pointer(file.blob.sha256, file.blob.size_bytes)
        with blob_open(file.blob) as stream:
            return stream.read()


def check_with_git(mlmodel: MLModel, folder: Path) -> None:
    clone = Clone(folder)
    for revision in reversed(list(history(mlmodel, revision_get(mlmodel)))):
        assert clone.add(revision) == revision.oid
    clone.git("update-ref", "HEAD", revision_get(mlmodel).oid)
    assert clone.git("fsck", "--strict", "--full", "--no-dangling") == ""


def test_git_agrees_with_a_models_history(alice: User, tmp_path: Path) -> None:
    net = make_mlmodel(
        "alice/net", actor=alice, files={"README.md": readme(), "m.onnx": tiny_onnx()}
    )
    commit_files(net, {"a/b/c.txt": "c", "a.txt": "", "a-b": b"\0\xff", "日本/é": "x"}, actor=alice)
    commit_files(
        net, {"a/": None, "README.md": readme("Other.")}, actor=alice, message="Für\n\nalle"
    )
    commit_files(net, {"hub.txt": "by the hub itself"}, actor=None)
    check_with_git(net, tmp_path)


@pytest.mark.parametrize("full_name", ["", 'Zoë <x> "y"', "<>", "...", "日本", "a.b."])
def test_git_takes_every_authors_name(db: None, tmp_path: Path, full_name: str) -> None:
    zoe = make_user("zoe", full_name=full_name)
    check_with_git(make_mlmodel("zoe/net", actor=zoe, files={"a": "a"}), tmp_path)


def test_an_authors_address_is_not_told(alice: User) -> None:
    line = revision_get(make_mlmodel("alice/net", actor=alice)).author_line
    assert alice.email not in line
    assert line.startswith("Alice Adams <alice@users.noreply.")


def test_one_change_made_on_two_branches_within_a_second_is_one_commit(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = make_mlmodel("alice/net", actor=alice)
    base = revision_get(net)
    ref_create(actor=alice, mlmodel=net, kind=RefKind.BRANCH, name="b", revision=base)
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    first = commit_files(net, {"a": "a"}, actor=alice)
    second = commit_files(net, {"a": "a"}, actor=alice, branch="b")
    assert first == second
    assert first.files.count() == 2
    assert revision_get(net, "main") == revision_get(net, "b") == first
