"""Our ids against those the real git computes for the same content."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.storage.git import blob_oid, commit_oid, lfs_pointer, tree_oid
from tests.programs import needs

AUTHOR = "Zoë van der Berg <zoe@users.noreply.example.org> 1700000000 +0000"


class Repository:
    """A bare git repository; every object written is checked by ``git fsck`` in the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        self.git("init", "--bare", "--quiet", ".")

    def git(self, *arguments: str, data: bytes = b"", **environment: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            input=data,
            capture_output=True,
            check=True,
            env=self.environment | environment,
        )
        return (done.stdout + done.stderr).decode().strip()

    def blob(self, data: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", data=data)

    def tree(self, files: dict[str, bytes]) -> str:
        """The id ``git mktree`` gives, folder by folder from the leaves."""
        names = {path.partition("/")[0] for path in files}
        lines = []
        for name in names:
            below = {
                path.removeprefix(f"{name}/"): data
                for path, data in files.items()
                if path.startswith(f"{name}/")
            }
            kind = f"040000 tree {self.tree(below)}" if below else ""
            lines.append(f"{kind or '100644 blob ' + self.blob(files[name])}\t{name}")
        return self.git("mktree", "-z", data="\0".join(lines).encode())

    def commit(self, tree: str, parent: str | None, message: str) -> str:
        name, _, rest = AUTHOR.partition(" <")
        email, _, date = rest.partition("> ")
        who = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in [("NAME", name), ("EMAIL", email), ("DATE", date)]
        }
        parents = ["-p", parent] if parent else []
        return self.git("commit-tree", tree, *parents, data=f"{message}\n".encode(), **who)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def our_tree(files: dict[str, bytes]) -> str:
    return tree_oid({path: blob_oid(data) for path, data in files.items()})


@needs("git")
@pytest.mark.parametrize("data", [b"", b"hello\n", bytes(range(256)) * 100])
def test_a_blob_has_the_id_git_gives_it(repository: Repository, data: bytes) -> None:
    assert blob_oid(data) == repository.blob(data)


@needs("git")
def test_folders_are_sorted_as_git_sorts_them(repository: Repository) -> None:
    # "a" as a folder sorts as "a/": behind "a-b" and "a.b", before "a0".
    files = {path: path.encode() for path in ["a/x", "a-b", "a.b", "a0", "a/b/c", "A", "ä", "日本"]}
    assert our_tree(files) == repository.tree(files)


def test_the_empty_tree_has_gits_well_known_id() -> None:
    assert tree_oid({}) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


part = st.text("ab-.0 é", min_size=1, max_size=3).filter(lambda text: text not in {".", ".."})


@needs("git")
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(part, min_size=1, max_size=3).map("/".join), max_size=6))
def test_any_tree_has_the_id_git_gives_it(repository: Repository, paths: list[str]) -> None:
    # A path that another one needs as a folder cannot be a file.
    files = {
        path: path.encode() for path in paths if not any(o.startswith(f"{path}/") for o in paths)
    }
    assert our_tree(files) == repository.tree(files)


@needs("git")
def test_commits_have_the_ids_git_gives_them_and_pass_its_strictest_check(
    repository: Repository,
) -> None:
    pointer = lfs_pointer(hashlib.sha256(b"weights").hexdigest(), 7)
    first = {".gitattributes": b"*.onnx filter=lfs diff=lfs merge=lfs -text\n"}
    second = first | {"model.onnx": pointer, "docs/a/b.txt": b"b", "docs/a.txt": b"a"}
    parent: str | None = None
    for files, message in [(first, "initial commit"), (second, "Add\n\nUnd näher: 日本")]:
        tree = repository.tree(files)
        assert our_tree(files) == tree
        theirs = repository.commit(tree, parent, message)
        ours = commit_oid(tree=tree, parent=parent, author_line=AUTHOR, message=message)
        assert ours == theirs
        parent = theirs
    assert parent is not None
    repository.git("update-ref", "HEAD", parent)
    assert repository.git("fsck", "--strict", "--full", "--no-dangling") == ""
