"""Commands of ``hf`` that work: sign-in, files, models, data sets, cache."""

import json
import os
import shlex
from unittest import mock

from tests.clients.verbs.command_line import fails, hf, works
from tests.clients.verbs.context import CARD, WEIGHTS, Context

AUTH, FILES, LISTS, CACHE = "Sign-in", "Files", "Models and data sets", "Cache"
MISSING = "alice/no-such-repository"


@works("auth login", AUTH, "With `--token`; a wrong one is refused.")
def auth_login(of: Context) -> None:
    hf(f"auth login --token {os.environ['HF_TOKEN']}")
    fails("auth login --token hpf_wrong --force", "Invalid")


@works("auth whoami", AUTH)
def auth_whoami(of: Context) -> None:
    answer = json.loads(hf("auth whoami --json"))
    assert (answer["user"], answer["endpoint"]) == ("alice", of.api.endpoint)


@works("auth token", AUTH)
def auth_token(of: Context) -> None:
    assert os.environ["HF_TOKEN"] in hf("auth token")


@works("auth list", AUTH)
def auth_list(of: Context) -> None:
    hf(f"auth login --token {os.environ['HF_TOKEN']}")
    assert _token_name(of) in hf("auth list")


@works("auth switch", AUTH)
def auth_switch(of: Context) -> None:
    hf(f"auth login --token {os.environ['HF_TOKEN']}")
    hf(f"auth switch --token-name {shlex.quote(_token_name(of))}")


@works("auth logout", AUTH)
def auth_logout(of: Context) -> None:
    hf(f"auth login --token {os.environ['HF_TOKEN']}")
    line = f"auth logout --token-name {shlex.quote(_token_name(of))}"
    with mock.patch.dict(os.environ):
        del os.environ["HF_TOKEN"]
        hf(line)
        assert "alice" not in hf("auth list")


def _token_name(of: Context) -> str:
    return str(of.api.whoami()["auth"]["accessToken"]["displayName"])


@works("upload", FILES, "A file or a folder; with `--create-pr` as a pull request.")
def upload(of: Context) -> None:
    folder, name = of.new_folder({"a/b.txt": b"b", "model.safetensors": WEIGHTS}), of.name()
    hf(f"upload {name} {folder}")
    assert {"a/b.txt", "model.safetensors"} <= set(of.api.list_repo_files(name))
    hf(f"upload {name} {of.path(b'c')} c.txt --create-pr")
    assert "c.txt" in of.api.list_repo_files(name, revision="refs/pr/1")
    fails(f"upload {of.repo(owner='bob')} {folder}", "403")


@works("download", FILES, "Files, patterns, whole repositories; `--dry-run`.")
def download(of: Context) -> None:
    name, folder = of.repo({"a.txt": b"a", "b.bin": b"b"}), of.new_folder()
    hf(f"download {name} --include '*.txt' --local-dir {folder}")
    assert (folder / "a.txt").read_bytes() == b"a"
    assert not (folder / "b.bin").exists()
    assert "b.bin" in hf(f"download {name} --dry-run")
    fails(f"download {MISSING}", "RepositoryNotFoundError")
    fails(f"download {name} c.txt", "EntryNotFoundError")
    fails(f"download {name} --revision none", "RevisionNotFoundError")


def _copies(of: Context, command: str) -> None:
    name, other, file = of.repo({"a.txt": b"a", "m.bin": WEIGHTS}), of.repo(), of.path()
    hf(f"{command} hf://{name}/a.txt {file}")
    assert file.read_bytes() == b"a"
    hf(f"{command} {file} hf://{name}/folder/b.txt")
    hf(f"{command} hf://{name}/ hf://{other}/")
    assert {"a.txt", "m.bin", "folder/b.txt"} <= set(of.api.list_repo_files(other))


@works("cp", FILES, "To, from and between repositories.")
def copy(of: Context) -> None:
    _copies(of, "cp")


@works("repos cp", FILES, "To, from and between repositories.")
def repos_copy(of: Context) -> None:
    _copies(of, "repos cp")


@works("repos delete-files", FILES)
def delete_files(of: Context) -> None:
    name = of.repo({"a.txt": b"a", "b.bin": b"b"})
    hf(f"repos delete-files {name} '*.txt'")
    assert "a.txt" not in of.api.list_repo_files(name)


def _lists(of: Context, kind: str) -> None:
    name = of.repo({"README.md": CARD, "a.txt": b"a"}, kind=kind)
    rows = json.loads(hf(f"{kind}s list --author alice --filter astronomy --limit 100 --json"))
    assert name in {row["id"] for row in rows}
    assert "a.txt" in hf(f"{kind}s list {name} --tree")
    fails(f"{kind}s list {MISSING}", "RepositoryNotFoundError")


def _informs(of: Context, kind: str) -> None:
    name = of.repo({"README.md": CARD}, kind=kind)
    assert json.loads(hf(f"{kind}s info {name} --json"))["id"] == name
    hf(f"{kind}s info {name} --expand downloads,likes,tags")
    fails(f"{kind}s info {MISSING}", "not found")


def _shows_card(of: Context, kind: str) -> None:
    name = of.repo({"README.md": CARD}, kind=kind)
    assert "# A card" in hf(f"{kind}s card {name}")
    assert "mit" in hf(f"{kind}s card {name} --metadata")


@works("models list", LISTS, "Models, or the files of one.")
def models_list(of: Context) -> None:
    _lists(of, "model")


@works("models info", LISTS)
def models_info(of: Context) -> None:
    _informs(of, "model")


@works("models card", LISTS)
def models_card(of: Context) -> None:
    _shows_card(of, "model")


@works("datasets list", LISTS, "Data sets, or the files of one.")
def datasets_list(of: Context) -> None:
    _lists(of, "dataset")


@works("datasets info", LISTS)
def datasets_info(of: Context) -> None:
    _informs(of, "dataset")


@works("datasets card", LISTS)
def datasets_card(of: Context) -> None:
    _shows_card(of, "dataset")


def _cached(of: Context) -> str:
    name = of.repo({"a.txt": b"a"})
    hf(f"download {name}")
    return name


@works("cache list", CACHE)
def cache_list(of: Context) -> None:
    assert _cached(of) in hf("cache list")


@works("cache verify", CACHE, "Compares with the checksums that the hub names.")
def cache_verify(of: Context) -> None:
    name = _cached(of)
    hf(f"cache verify {name}")
    folder = of.new_folder({"a.txt": b"changed"})
    fails(f"cache verify {name} --local-dir {folder}", "Verification failed")


@works("cache rm", CACHE, "Goes by commits: of repositories that share one, it may remove another.")
def cache_rm(of: Context) -> None:
    other, name = _cached(of), _cached(of)
    removed = hf(f"cache rm model/{name} -y")
    left = hf("cache list")
    assert f"model/{other}" in left.split(), f"{removed}{left}"
    assert f"model/{name}" not in left.split(), f"{removed}{left}"


@works("cache prune", CACHE)
def cache_prune(of: Context) -> None:
    name = _cached(of)
    of.api.upload_file(path_or_fileobj=b"b", path_in_repo="a.txt", repo_id=name)
    hf(f"download {name}")
    hf("cache prune -y")
    assert len(_revisions(name)) == 1


def _revisions(name: str) -> list[dict[str, str]]:
    rows = json.loads(hf("cache list --revisions --json"))
    return [row for row in rows if name in json.dumps(row)]
