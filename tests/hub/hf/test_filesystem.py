"""The hub as a file system, through ``HfFileSystem``."""

from collections.abc import Callable

import pytest
from huggingface_hub import HfFileSystem

from registry.selectors.repository.revision import revision_get
from registry.states import RepositoryKind, Scope
from registry.tables import MLModel, Namespace, User
from tests.factories import commit_files, make_mlmodel, make_token

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = "lab/disk"
BYTES = bytes(range(256)) * 1000
FilesystemOf = Callable[..., HfFileSystem]


@pytest.fixture
def disk(lab: Namespace, charlie: User) -> MLModel:
    """``lab/disk``: text at the top, data in folders."""
    files = {
        "notes.txt": "one\ntwo\n",
        "data/2024/a b.csv": "x\n",
        "data/2024/b.csv": "y\n",
        "data/2025/c.csv": "z\n",
        "weights/large.bin": BYTES,
    }
    return make_mlmodel(ROOT, actor=charlie, files=files)


@pytest.fixture
def filesystem_of(hub_url: str) -> FilesystemOf:
    """Makes the file system of a person, or of nobody."""

    def make(user: User | None = None) -> HfFileSystem:
        token = make_token(user, Scope.WRITE) if user else False
        # Instances are remembered for the same address, which later tests may get again.
        return HfFileSystem(endpoint=hub_url, token=token, skip_instance_cache=True)

    return make


def test_folders_are_listed_walked_and_globbed(filesystem_of: FilesystemOf, disk: MLModel) -> None:
    fs = filesystem_of()

    assert fs.ls(ROOT, detail=False) == [
        f"{ROOT}/{name}" for name in (".gitattributes", "data", "notes.txt", "weights")
    ]
    assert fs.glob(f"{ROOT}/**/*.csv") == [
        f"{ROOT}/data/{name}" for name in ("2024/a b.csv", "2024/b.csv", "2025/c.csv")
    ]
    assert fs.glob(f"{ROOT}/data/*/b.csv") == [f"{ROOT}/data/2024/b.csv"]
    assert [folders for _, folders, _ in fs.walk(f"{ROOT}/data")] == [["2024", "2025"], [], []]
    assert len(fs.find(ROOT)) == 6
    assert fs.du(f"{ROOT}/data") == 6


def test_what_lies_at_a_path_is_told(filesystem_of: FilesystemOf, disk: MLModel) -> None:
    fs = filesystem_of()
    head = revision_get(disk)

    large = fs.info(f"{ROOT}/weights/large.bin", expand_info=True)
    folder = fs.info(f"{ROOT}/data", expand_info=True)

    assert (large["type"], large["size"], large["lfs"]["size"]) == ("file", len(BYTES), len(BYTES))
    assert large["last_commit"]["oid"] == head.oid
    assert (folder["type"], folder["last_commit"]["oid"]) == ("directory", head.oid)
    assert fs.info(ROOT)["type"] == "directory"
    assert fs.isdir(f"{ROOT}/data/2024")
    assert fs.isfile(f"{ROOT}/notes.txt")
    assert not fs.exists(f"{ROOT}/data/2026")
    assert not fs.exists("lab/absent")
    assert not fs.exists(f"{ROOT}@gone/notes.txt")
    with pytest.raises(FileNotFoundError):
        fs.info(f"{ROOT}/absent")
    with pytest.raises(FileNotFoundError):
        fs.ls(f"{ROOT}/absent")


def test_files_are_read_in_parts(filesystem_of: FilesystemOf, disk: MLModel) -> None:
    fs = filesystem_of()

    with fs.open(f"{ROOT}/weights/large.bin", block_size=1000) as file:
        file.seek(100_000)
        assert file.read(10) == BYTES[100_000:100_010]
        file.seek(-5, 2)
        assert file.read() == BYTES[-5:]
    with fs.open(f"{ROOT}/weights/large.bin", block_size=0) as stream:
        assert stream.read() == BYTES
    with fs.open(f"{ROOT}/notes.txt", "r") as text:
        assert text.readlines() == ["one\n", "two\n"]
    assert fs.cat_file(f"{ROOT}/weights/large.bin", start=-3) == BYTES[-3:]
    assert fs.read_text(f"{ROOT}/data/2024/a b.csv") == "x\n"


def test_any_revision_can_be_looked_into(
    filesystem_of: FilesystemOf, disk: MLModel, charlie: User
) -> None:
    first = revision_get(disk).oid
    commit_files(disk, {"notes.txt": "new", "data/2025/c.csv": None}, actor=charlie)
    fs = filesystem_of()

    assert fs.read_text(f"{ROOT}@{first}/notes.txt") == "one\ntwo\n"
    assert fs.read_text(f"{ROOT}@refs%2Fheads%2Fmain/notes.txt") == "new"
    assert fs.exists(f"{ROOT}@{first[:7]}/data/2025")
    assert not fs.exists(f"{ROOT}/data/2025")


def test_data_sets_lie_below_their_own_root(
    filesystem_of: FilesystemOf, lab: Namespace, charlie: User
) -> None:
    files = {"data/train.csv": "a\n"}
    make_mlmodel("lab/stars", actor=charlie, files=files, kind=RepositoryKind.DATASET)
    fs = filesystem_of()

    assert fs.read_text("datasets/lab/stars/data/train.csv") == "a\n"
    assert not fs.exists("lab/stars")


def test_what_is_private_is_there_for_its_members_only(
    filesystem_of: FilesystemOf, secret: MLModel, charlie: User, bob: User
) -> None:
    assert not filesystem_of().exists("lab/secret/README.md")
    assert not filesystem_of(bob).exists("lab/secret/README.md")
    assert filesystem_of(charlie).exists("lab/secret/README.md")


def test_members_write_copy_and_remove_files(
    filesystem_of: FilesystemOf, disk: MLModel, charlie: User
) -> None:
    fs = filesystem_of(charlie)

    with fs.open(f"{ROOT}/new/text.txt", "w") as file:
        file.write("written")
    fs.cp_file(f"{ROOT}/weights/large.bin", f"{ROOT}/new/copy.bin")
    fs.mv(f"{ROOT}/notes.txt", f"{ROOT}/moved.txt")
    fs.rm(f"{ROOT}/data", recursive=True)

    fs.invalidate_cache()
    assert fs.read_text(f"{ROOT}/new/text.txt") == "written"
    assert fs.read_bytes(f"{ROOT}/new/copy.bin") == BYTES
    assert fs.read_text(f"{ROOT}/moved.txt") == "one\ntwo\n"
    assert not fs.exists(f"{ROOT}/notes.txt")
    assert not fs.exists(f"{ROOT}/data")
