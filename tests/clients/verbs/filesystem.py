"""``HfFileSystem``: what it adds to fsspec, and what fsspec makes of it."""

from pathlib import Path

from huggingface_hub import HfFileSystem

from tests.clients.verbs.context import Context, refused
from tests.clients.verbs.table import Result, Verb, add, works

AREA = "HfFileSystem"


def _opened(of: Context) -> tuple[HfFileSystem, str]:
    """The file system, with the cache of nobody else, and a repository with three files."""
    name = of.repo({"a.txt": b"first\nsecond\n", "deep/b.bin": b"b" * 3000, "deep/c.txt": b"c"})
    return HfFileSystem(skip_instance_cache=True), name


@works("HfFileSystem.resolve_path", AREA, "")
def resolve_path(of: Context) -> None:
    files, name = _opened(of)
    place = files.resolve_path(f"hf://{name}@main/deep/b.bin")
    assert (place.repo_id, place.revision, place.path_in_repo) == (name, "main", "deep/b.bin")
    refused(FileNotFoundError, lambda: files.resolve_path("alice/no-such-model/a.txt"))


@works("HfFileSystem.invalidate_cache", AREA, "")
def invalidate_cache(of: Context) -> None:
    files, name = _opened(of)
    assert not files.exists(f"{name}/d.txt")
    of.api.upload_file(path_or_fileobj=b"d", path_in_repo="d.txt", repo_id=name)
    files.invalidate_cache()
    assert files.exists(f"{name}/d.txt")


@works("HfFileSystem.ls", AREA, "")
def ls(of: Context) -> None:
    files, name = _opened(of)
    assert files.ls(f"{name}/deep", detail=False) == [f"{name}/deep/b.bin", f"{name}/deep/c.txt"]
    refused(FileNotFoundError, lambda: files.ls(f"{name}/none"))


@works("HfFileSystem.walk", AREA, "")
def walk(of: Context) -> None:
    files, name = _opened(of)
    folders = {folder: names for folder, _, names in files.walk(name)}
    assert folders[f"{name}/deep"] == ["b.bin", "c.txt"]


@works("HfFileSystem.find", AREA, "")
def find(of: Context) -> None:
    files, name = _opened(of)
    assert f"{name}/deep/b.bin" in files.find(name)


@works("HfFileSystem.glob", AREA, "")
def glob(of: Context) -> None:
    files, name = _opened(of)
    assert files.glob(f"{name}/**/*.bin") == [f"{name}/deep/b.bin"]


@works("HfFileSystem.info", AREA, "")
def info(of: Context) -> None:
    files, name = _opened(of)
    assert files.info(f"{name}/deep/b.bin")["size"] == 3000
    assert files.info(f"{name}/deep")["type"] == "directory"


@works("HfFileSystem.exists", AREA, "")
def exists(of: Context) -> None:
    files, name = _opened(of)
    assert files.exists(f"{name}/a.txt")
    assert not files.exists(f"{name}/none")
    assert not files.exists("alice/no-such-model/a.txt")


@works("HfFileSystem.isdir", AREA, "")
def isdir(of: Context) -> None:
    files, name = _opened(of)
    assert files.isdir(f"{name}/deep")


@works("HfFileSystem.isfile", AREA, "")
def isfile(of: Context) -> None:
    files, name = _opened(of)
    assert files.isfile(f"{name}/a.txt")


@works("HfFileSystem.modified", AREA, "The date of the last commit of the file.")
def modified(of: Context) -> None:
    files, name = _opened(of)
    (commit, _) = of.api.list_repo_commits(name)
    assert files.modified(f"{name}/a.txt") == commit.created_at


@works("HfFileSystem.url", AREA, "")
def url(of: Context) -> None:
    files, name = _opened(of)
    assert files.url(f"{name}/a.txt") == f"{of.api.endpoint}/{name}/resolve/main/a.txt"


@works("HfFileSystem.open", AREA, "Reads by ranges; a written file is one commit.")
def open_file(of: Context) -> None:
    files, name = _opened(of)
    with files.open(f"{name}/deep/b.bin") as stream:
        stream.seek(2990)
        assert stream.read() == b"b" * 10
    with files.open(f"{name}/new.txt", "w") as stream:
        stream.write("new")
    assert files.read_text(f"{name}/new.txt") == "new"
    with files.open(f"{name}/a.txt", block_size=0) as stream:
        assert stream.read() == b"first\nsecond\n"


@works("HfFileSystem.get_file", AREA, "")
def get_file(of: Context) -> None:
    files, name = _opened(of)
    target = of.path()
    files.get_file(f"{name}/a.txt", str(target))
    assert target.read_bytes() == b"first\nsecond\n"


@works("HfFileSystem.put", AREA, "")
def put(of: Context) -> None:
    files, name = _opened(of)
    files.put(str(of.path(b"put")), f"{name}/put.txt")
    assert files.cat_file(f"{name}/put.txt") == b"put"


@works("HfFileSystem.get", AREA, "")
def get(of: Context) -> None:
    files, name = _opened(of)
    target = of.new_folder()
    files.get(f"{name}/deep", str(target / "deep"), recursive=True)
    assert (Path(target) / "deep/c.txt").read_bytes() == b"c"


@works("HfFileSystem.cp_file", AREA, "Within a repository and between repositories.")
def cp_file(of: Context) -> None:
    files, name = _opened(of)
    other = of.repo()
    files.cp_file(f"{name}/a.txt", f"{name}/copy.txt")
    files.cp_file(f"{name}/a.txt", f"{other}/copy.txt")
    files.invalidate_cache()
    assert files.exists(f"{name}/copy.txt")
    assert files.exists(f"{other}/copy.txt")


@works("HfFileSystem.rm", AREA, "")
def rm(of: Context) -> None:
    files, name = _opened(of)
    files.rm(f"{name}/deep", recursive=True)
    files.invalidate_cache()
    assert not files.exists(f"{name}/deep")


def _start_transaction(of: Context) -> None:
    files, _ = _opened(of)
    refused(NotImplementedError, files.start_transaction)


add(
    Verb(
        "HfFileSystem.start_transaction",
        AREA,
        Result.REFUSED,
        "By the client itself, whatever the hub.",
        _start_transaction,
    )
)
