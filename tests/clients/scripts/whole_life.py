"""A repository's whole life through ``huggingface_hub`` alone; runs on every version since 0.36.

Arguments: the repository's id, its type, and the path of an empty folder to work in.
"""

import hashlib
import io
import random
import sys
from pathlib import Path

from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationCopy,
    CommitOperationDelete,
    HfApi,
    hf_hub_download,
    snapshot_download,
)
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError

repo_id, repo_type, workdir = sys.argv[1], sys.argv[2], Path(sys.argv[3])
api = HfApi()
where = {"repo_id": repo_id, "repo_type": repo_type}


def content(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)  # noqa: S311


def fetched(path: str, **options: str) -> bytes:
    return Path(hf_hub_download(filename=path, **where, **options)).read_bytes()


def refused(error: type[Exception], call, *args, **kwargs) -> None:
    try:
        call(*args, **kwargs)
    except error:
        return
    raise AssertionError(f"{call} was not refused with {error}")


# Made, twice without harm, and found.
api.create_repo(**where)
api.create_repo(**where, exist_ok=True)
refused(HfHubHTTPError, api.create_repo, **where)
assert api.repo_exists(**where)
assert api.list_repo_files(**where) == [".gitattributes"]

# Bytes by each way a client may send them: inline, a path, a file object, a folder.
weights = content(2_500_000, 1)
small = content(22_000, 2)
(workdir / "weights.bin").write_bytes(weights)
api.upload_file(path_or_fileobj=b"hello", path_in_repo="notes/a b%+#\u00fc.txt", **where)
api.upload_file(path_or_fileobj=workdir / "weights.bin", path_in_repo="weights.bin", **where)
api.upload_file(path_or_fileobj=io.BytesIO(small), path_in_repo="small.safetensors", **where)
folder = workdir / "folder"
(folder / "deep/er").mkdir(parents=True)
for number in range(12):
    (folder / f"deep/er/{number}.txt").write_text(f"file {number}")
(folder / "deep/model.onnx").write_bytes(content(300_000, 3))
(folder / "empty.txt").touch()
info = api.upload_folder(folder_path=folder, path_in_repo="f", **where)
assert len(info.oid) == 40, info

# And back, byte for byte.
assert fetched("weights.bin") == weights
assert fetched("small.safetensors") == small
assert fetched("notes/a b%+#\u00fc.txt") == b"hello"
snapshot = Path(snapshot_download(**where))
assert (snapshot / "f/deep/er/7.txt").read_text() == "file 7"
assert (snapshot / "f/empty.txt").read_bytes() == b""
assert snapshot.name == info.oid
entries = {entry.path: entry for entry in api.list_repo_tree(**where, recursive=True)}
assert entries["weights.bin"].lfs.sha256 == hashlib.sha256(weights).hexdigest()
header = b"blob 6\0"
assert entries["f/deep/er/7.txt"].blob_id == hashlib.sha1(header + b"file 7").hexdigest()  # noqa: S324

# Several changes at once; on a branch; on a stale parent, refused.
head = api.repo_info(**where).sha
api.create_branch(branch="next", **where)
commit = api.create_commit(
    operations=[
        CommitOperationDelete("f/deep/er/", is_folder=True),
        CommitOperationCopy("weights.bin", "copy.bin"),
        CommitOperationAdd("README.md", b"---\nlicense: mit\n---\n# Life\n"),
    ],
    commit_message="Change several things",
    revision="next",
    parent_commit=head,
    **where,
)
assert fetched("copy.bin", revision="next") == weights
refused(EntryNotFoundError, fetched, "f/deep/er/7.txt", revision="next")
refused(EntryNotFoundError, fetched, "README.md")
refused(
    HfHubHTTPError,
    api.create_commit,
    operations=[CommitOperationAdd("late.txt", b"late")],
    commit_message="too late",
    revision="next",
    parent_commit=head,
    **where,
)
api.create_tag(tag="v1", revision="next", **where)
refs = api.list_repo_refs(**where)
assert {ref.name for ref in refs.branches} == {"main", "next"}
assert [(ref.name, ref.target_commit) for ref in refs.tags] == [("v1", commit.oid)]
assert api.list_repo_commits(revision="v1", **where)[0].title == ("Change several things")

# A pull request, merged.
pull = api.create_commit(
    operations=[CommitOperationAdd("idea.txt", b"an idea")],
    commit_message="An idea",
    create_pr=True,
    **where,
)
assert fetched("idea.txt", revision=pull.pr_revision) == b"an idea"
api.merge_pull_request(discussion_num=pull.pr_num, **where)
assert fetched("idea.txt") == b"an idea"

# Squashed, moved (the old address leads on), deleted.
api.super_squash_history(branch="next", **where)
assert len(api.list_repo_commits(revision="next", **where)) == 1
assert fetched("copy.bin", revision="next") == weights
api.move_repo(from_id=repo_id, to_id=f"{repo_id}-moved", repo_type=repo_type)
assert api.repo_info(**where).id == f"{repo_id}-moved"
assert fetched("idea.txt") == b"an idea"
api.delete_repo(repo_id=f"{repo_id}-moved", repo_type=repo_type)
refused(RepositoryNotFoundError, api.repo_info, **where)
print("lived")
