"""Files and folders of a revision, through the real client and against real git."""

import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from huggingface_hub import RepoFile, RepoFolder
from huggingface_hub.errors import EntryNotFoundError, RemoteEntryNotFoundError

from registry.selectors.repository.revision import branch_get
from registry.selectors.repository.tree import entries_at, tree_page
from registry.tables import MLModel, Namespace, User
from tests.factories import commit_files, make_mlmodel
from tests.hub.hf.conftest import ApiOf
from tests.programs import needs

pytestmark = pytest.mark.django_db(transaction=True)

ID = "lab/wood"
FILES = {
    "a-b.txt": "1",
    "a/deep/er/x.txt": "2",
    "a/y.txt": "3",
    "a.txt": "4",
    "B/upper.txt": "5",
    "é/ü ñ.txt": "6",
    "odd %2F+#?&=~'\"[x].txt": "7",
    "z.bin": "large",
}


@pytest.fixture
def wood(lab: Namespace, charlie: User) -> MLModel:
    """``lab/wood``: folders in folders, and names that have to be escaped."""
    return make_mlmodel(ID, actor=charlie, files=FILES)


def _paths(entries: Any) -> list[str]:
    return [entry.path for entry in entries]


@needs("git")
def test_a_tree_holds_what_git_would_hold(api_of: ApiOf, wood: MLModel, tmp_path: Path) -> None:
    api = api_of()
    told = {entry.path: entry for entry in api.list_repo_tree(ID, recursive=True)}
    pointer = told["z.bin"]
    assert isinstance(pointer, RepoFile)
    assert pointer.lfs is not None
    contents = FILES | {
        "z.bin": "version https://git-lfs.github.com/spec/v1\n"
        f"oid sha256:{pointer.lfs.sha256}\nsize {pointer.size}\n",
        ".gitattributes": Path(
            api.hf_hub_download(ID, ".gitattributes", local_dir=tmp_path / "x")
        ).read_text(),
    }
    folder = tmp_path / "git"
    for path, text in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git = ["git", "-C", str(folder), "-c", "core.attributesFile=/dev/null"]
    subprocess.run([*git, "init", "-q"], check=True)
    (folder / ".git/info/attributes").write_text("* -filter -text\n")
    subprocess.run([*git, "add", "-A"], check=True)
    tree = subprocess.run([*git, "write-tree"], check=True, capture_output=True, text=True).stdout
    listed = subprocess.run(
        [*git, "ls-tree", "-rtz", tree.strip()], check=True, capture_output=True, text=True
    ).stdout
    expected = {}
    for line in listed.split("\0")[:-1]:
        kind_and_oid, _, path = line.partition("\t")
        expected[path] = kind_and_oid.split()[1:3]

    assert {
        path: ["tree", entry.tree_id] if isinstance(entry, RepoFolder) else ["blob", entry.blob_id]
        for path, entry in told.items()
    } == expected
    assert pointer.size == len("large")


def test_a_folder_is_listed_by_itself_or_with_all_below(api_of: ApiOf, wood: MLModel) -> None:
    api = api_of()

    assert _paths(api.list_repo_tree(ID)) == sorted(
        {".gitattributes", *(path.partition("/")[0] for path in FILES)}
    )
    assert _paths(api.list_repo_tree(ID, "a")) == ["a/deep", "a/y.txt"]
    assert _paths(api.list_repo_tree(ID, "a", recursive=True)) == [
        *("a/deep", "a/deep/er", "a/deep/er/x.txt", "a/y.txt")
    ]
    assert _paths(api.list_repo_tree(ID, "é")) == ["é/ü ñ.txt"]
    assert _paths(api.list_repo_tree(ID, "a/deep/")) == ["a/deep/er"]


def test_what_is_no_folder_is_not_found(api_of: ApiOf, wood: MLModel) -> None:
    for path in ["b", "a/y.txt", "A", "a/deep/e", "../a", "a\x00"]:
        with pytest.raises((EntryNotFoundError, RemoteEntryNotFoundError)):
            list(api_of().list_repo_tree(ID, path))


@pytest.mark.parametrize("recursive", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
def test_pages_hold_every_entry_once(wood: MLModel, *, recursive: bool, limit: int) -> None:
    revision = branch_get(wood, "main").revision
    whole = tree_page(revision, "", recursive=recursive, limit=1000).items

    paths, cursor = [], None
    while True:
        page = tree_page(revision, "", recursive=recursive, cursor=cursor, limit=limit)
        paths += _paths(page.items)
        cursor = page.next
        if cursor is None:
            break

    assert paths == _paths(whole)
    assert paths == sorted(paths)
    assert len(paths) == (len(FILES) + 1 + 5 if recursive else 8)


def test_the_client_goes_through_all_pages(
    api_of: ApiOf, wood: MLModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hub.hf.tree._PAGE", 2)
    monkeypatch.setattr("hub.hf.tree._EXPANDED_PAGE", 3)
    api = api_of()

    paths = _paths(api.list_repo_tree(ID, recursive=True))

    assert set(FILES) < set(paths)
    assert len(paths) == len(set(paths))
    assert _paths(api.list_repo_tree(ID, recursive=True, expand=True)) == paths


def test_expanding_tells_what_changed_each_entry_last(
    api_of: ApiOf, wood: MLModel, charlie: User
) -> None:
    made = branch_get(wood, "main").revision
    newest = commit_files(wood, {"a/deep/er/x.txt": "new"}, actor=charlie, message="Deeper\n\nText")
    api = api_of()

    told = {entry.path: entry for entry in api.list_repo_tree(ID, recursive=True, expand=True)}

    commits = {path: entry.last_commit for path, entry in told.items()}
    assert all(commits.values())
    changed = {path for path, commit in commits.items() if commit and commit.oid == newest.oid}
    assert changed == {"a", "a/deep", "a/deep/er", "a/deep/er/x.txt"}
    assert commits["a"] is not None
    assert commits["a"].title == "Deeper"
    assert commits["B"] is not None
    assert commits["B"].oid == made.oid
    file = told["a.txt"]
    assert isinstance(file, RepoFile)
    assert file.security is not None
    assert file.security.status == "unscanned"


def test_paths_are_told_where_they_are_there(api_of: ApiOf, wood: MLModel) -> None:
    api = api_of()
    asked = [*FILES, "a", "a/deep/", "gone", "", "x\x00", "a"]

    told = api.get_paths_info(ID, asked, expand=True)

    assert _paths(told) == [*FILES, "a", "a/deep"]
    assert isinstance(told[-1], RepoFolder)
    assert told[0].last_commit is not None
    assert api.get_paths_info(ID, "gone") == []
    assert api.file_exists(ID, "odd %2F+#?&=~'\"[x].txt")
    assert not api.file_exists(ID, "gone")


def test_a_thousand_paths_may_be_asked_for_and_no_more(
    api_of: ApiOf, wood: MLModel, hub_url: str
) -> None:
    many = [f"no/{number}" for number in range(999)]

    assert _paths(api_of().get_paths_info(ID, [*many, "a.txt"])) == ["a.txt"]
    answer = httpx.post(
        f"{hub_url}/api/models/{ID}/paths-info/main", json={"paths": [*many, "x", "y"]}
    )
    assert answer.status_code == 400


def test_a_body_without_paths_is_refused(wood: MLModel, hub_url: str) -> None:
    for body in [b"[1]", b'{"paths": 3}', b'{"paths": [3]}', b"{", b'{"paths": {"a": 1}}']:
        address = f"{hub_url}/api/models/{ID}/paths-info/main"
        answer = httpx.post(address, content=body, headers={"Content-Type": "application/json"})

        assert answer.status_code == 400, body


def test_paths_may_come_as_json(wood: MLModel, hub_url: str) -> None:
    address = f"{hub_url}/api/models/{ID}/paths-info/main"

    (told,) = httpx.post(address, json={"paths": "a.txt", "expand": True}).json()

    assert (told["path"], told["type"], told["size"]) == ("a.txt", "file", 1)
    assert told["lastCommit"]["date"].endswith("Z")
    assert httpx.post(address).json() == []


def test_sizes_are_summed_below_a_folder(wood: MLModel, hub_url: str) -> None:
    def size(path: str) -> Any:
        return httpx.get(f"{hub_url}/api/models/{ID}/treesize/main{path}").json()

    assert size("/a") == {"path": "/a", "size": 2}
    assert size("/a.txt") == {"path": "/a.txt", "size": 1}
    assert size("")["size"] > sum(map(len, FILES.values()))
    assert "error" in size("/gone")


def test_one_revision_is_never_taken_for_another(wood: MLModel, charlie: User) -> None:
    """Folders' ids are kept in memory between requests."""
    before = branch_get(wood, "main").revision
    (old,) = entries_at(before, ["a"])
    after = commit_files(wood, {"a/y.txt": "changed"}, actor=charlie)
    (new,) = entries_at(after, ["a"])

    assert old.oid != new.oid
    assert entries_at(before, ["a"]) == [old]
