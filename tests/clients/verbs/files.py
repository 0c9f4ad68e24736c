"""Files: upload, delete, list, download, read the headers of tensors."""

import io
import json
from pathlib import Path

from huggingface_hub import CommitOperationAdd, CommitOperationCopy, hf_hub_url
from huggingface_hub.errors import EntryNotFoundError, NotASafetensorsRepoError

from tests.clients.verbs.context import WEIGHTS, Context, refused
from tests.clients.verbs.table import works

AREA = "Files"


@works("upload_file", AREA, "By Xet, by Git LFS or inline, as the client chooses.")
def upload_file(of: Context) -> None:
    name = of.repo()
    for path, data in (("a.txt", b"a"), ("a.bin", b"large" * 1000)):
        of.api.upload_file(path_or_fileobj=of.path(data), path_in_repo=path, repo_id=name)
        assert Path(of.api.hf_hub_download(name, path)).read_bytes() == data
    of.api.upload_file(path_or_fileobj=io.BytesIO(b"b"), path_in_repo="b.bin", repo_id=name)
    assert of.api.file_exists(name, "b.bin")


@works("upload_folder", AREA, "")
def upload_folder(of: Context) -> None:
    name = of.repo({"old.txt": b"old"})
    folder = of.new_folder({"deep/a.txt": b"a", "b.bin": b"b", "c.log": b"c"})
    of.api.upload_folder(
        repo_id=name, folder_path=folder, ignore_patterns="*.log", delete_patterns="*.txt"
    )
    assert set(of.api.list_repo_files(name)) == {".gitattributes", "deep/a.txt", "b.bin"}


@works("upload_large_folder", AREA, "", of_older=True)
def upload_large_folder(of: Context) -> None:
    name = of.repo()
    folder = of.new_folder({"deep/a.txt": b"a", "b.bin": b"b"})
    of.api.upload_large_folder(
        repo_id=name, folder_path=folder, repo_type="model", print_report=False, num_workers=1
    )
    assert of.api.file_exists(name, "b.bin")


@works("preupload_lfs_files", AREA, "")
def preupload_lfs_files(of: Context) -> None:
    name = of.repo()
    addition = CommitOperationAdd("a.bin", b"large" * 1000)
    of.api.preupload_lfs_files(name, [addition])
    of.api.create_commit(name, [addition], commit_message="Add")
    assert of.api.file_exists(name, "a.bin")


_LATER = ("1.20", "large files that came by LFS only once the hub has found their chunks")


@works("copy_files", AREA, "Between repositories and revisions of this hub.", before=_LATER)
def copy_files(of: Context) -> None:
    name, other = of.repo({"a.txt": b"a", "a.bin": b"large" * 1000}), of.repo()
    of.api.copy_files(f"hf://{name}/", f"hf://{other}/")
    path = of.api.hf_hub_download(other, "a.bin")
    assert Path(path).read_bytes() == b"large" * 1000
    assert of.api.file_exists(other, "a.txt")
    copy = [CommitOperationCopy("a.bin", "copy.bin")]
    of.api.create_commit(name, copy, commit_message="Copy")
    assert of.api.file_exists(name, "copy.bin")


@works("delete_file", AREA, "")
def delete_file(of: Context) -> None:
    name = of.repo({"a.txt": b"a"})
    of.api.delete_file("a.txt", name)
    assert not of.api.file_exists(name, "a.txt")
    refused(EntryNotFoundError, lambda: of.api.delete_file("never.txt", name))


@works("delete_files", AREA, "By patterns.")
def delete_files(of: Context) -> None:
    name = of.repo({"a.txt": b"a", "b.txt": b"b", "c.md": b"c"})
    of.api.delete_files(name, ["*.txt"])
    assert set(of.api.list_repo_files(name)) == {".gitattributes", "c.md"}


@works("delete_folder", AREA, "")
def delete_folder(of: Context) -> None:
    name = of.repo({"deep/a.txt": b"a", "b.txt": b"b"})
    of.api.delete_folder("deep", name)
    assert set(of.api.list_repo_files(name)) == {".gitattributes", "b.txt"}


@works("file_exists", AREA, "")
def file_exists(of: Context) -> None:
    name = of.repo({"a.txt": b"a"}, private=True)
    assert of.api.file_exists(name, "a.txt")
    assert not of.api.file_exists(name, "b.txt")
    assert not of.bob.file_exists(name, "a.txt")


@works("list_repo_files", AREA, "")
def list_repo_files(of: Context) -> None:
    name = of.repo({"deep/a.txt": b"a"})
    assert set(of.api.list_repo_files(name)) == {".gitattributes", "deep/a.txt"}


@works("list_repo_tree", AREA, "With the last commit of each entry, if asked.")
def list_repo_tree(of: Context) -> None:
    name = of.repo({"deep/a.txt": b"a", "b.bin": b"b"})
    entries = {entry.path: entry for entry in of.api.list_repo_tree(name, expand=True)}
    assert set(entries) == {".gitattributes", "deep", "b.bin"}
    assert entries["b.bin"].lfs.size == 1
    assert entries["deep"].last_commit.title == "Add files"
    missing = of.api.list_repo_tree(name, path_in_repo="none")
    refused(EntryNotFoundError, lambda: list(missing))


@works("get_paths_info", AREA, "Paths that do not exist are left out.")
def get_paths_info(of: Context) -> None:
    name = of.repo({"deep/a.txt": b"a"})
    entries = of.api.get_paths_info(name, ["deep", "deep/a.txt", "none"], expand=True)
    assert {entry.path for entry in entries} == {"deep", "deep/a.txt"}


@works("verify_repo_checksums", AREA, "")
def verify_repo_checksums(of: Context) -> None:
    name = of.repo({"a.txt": b"a", "b.bin": b"b"})
    folder = of.new_folder()
    of.api.snapshot_download(name, local_dir=folder)
    checked = of.api.verify_repo_checksums(name, local_dir=folder)
    assert checked.checked_count == 3
    assert not checked.mismatches


@works("get_hf_file_metadata", AREA, "")
def get_hf_file_metadata(of: Context) -> None:
    name = of.repo({"b.bin": b"b"})
    metadata = of.api.get_hf_file_metadata(url=hf_hub_url(name, "b.bin"))
    assert (metadata.size, metadata.commit_hash) == (1, of.api.repo_info(name).sha)
    refused(EntryNotFoundError, lambda: of.api.get_hf_file_metadata(url=hf_hub_url(name, "c.bin")))


@works("hf_hub_download", AREA, "Whole, or the missing rest after an interruption.")
def hf_hub_download(of: Context) -> None:
    name = of.repo({"a.txt": b"a"})
    assert Path(of.api.hf_hub_download(name, "a.txt")).read_bytes() == b"a"
    refused(EntryNotFoundError, lambda: of.api.hf_hub_download(name, "b.txt"))


@works("snapshot_download", AREA, "")
def snapshot_download(of: Context) -> None:
    name = of.repo({"a.txt": b"a", "deep/b.bin": b"b"}, kind="dataset")
    folder = Path(of.api.snapshot_download(name, repo_type="dataset", allow_patterns="deep/*"))
    assert [path.name for path in folder.rglob("*.*")] == ["b.bin"]


@works("parse_safetensors_file_metadata", AREA, "Reads the header alone, by a range.")
def parse_safetensors_file_metadata(of: Context) -> None:
    name = of.repo({"model.safetensors": WEIGHTS})
    header = of.api.parse_safetensors_file_metadata(name, "model.safetensors")
    assert header.tensors["weight"].shape == [2, 3]


@works("get_safetensors_metadata", AREA, "")
def get_safetensors_metadata(of: Context) -> None:
    name = of.repo({"model.safetensors": WEIGHTS})
    assert of.api.get_safetensors_metadata(name).parameter_count == {"F32": 6}
    refused(NotASafetensorsRepoError, lambda: of.api.get_safetensors_metadata(of.repo()))


@works("get_sharded_safetensors_metadata", AREA, "All headers in one answer.")
def get_sharded_safetensors_metadata(of: Context) -> None:
    index = {"metadata": {"total_size": 24}, "weight_map": {"weight": "model-1.safetensors"}}
    files = {
        "model.safetensors.index.json": json.dumps(index).encode(),
        "model-1.safetensors": WEIGHTS,
    }
    name = of.repo(files)
    metadata = of.api.get_sharded_safetensors_metadata(name)
    assert metadata.weight_map == index["weight_map"]
    assert metadata.parameter_count == {"F32": 6}
    assert metadata.metadata == {"total_size": 24}
    refused(EntryNotFoundError, lambda: of.api.get_sharded_safetensors_metadata(of.repo()))
    missing = of.repo({"model.safetensors.index.json": files["model.safetensors.index.json"]})
    refused(EntryNotFoundError, lambda: of.api.get_sharded_safetensors_metadata(missing))
