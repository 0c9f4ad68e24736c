"""Large files stay git-lfs pointers where ``.gitattributes`` does not name them."""

import hashlib

import pytest
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationCopy,
    CommitOperationDelete,
    get_hf_file_metadata,
)
from huggingface_hub.hf_api import RepoFile

from registry.selectors.repository.revision import file_get, revision_get
from registry.storage.git import blob_oid, lfs_pointer
from registry.tables import MLModel, User
from tests.factories import make_mlmodel, store
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.wire import send_lines

pytestmark = pytest.mark.django_db(transaction=True)

REPO = "alice/net"
DATA = b"weights of a network"
SHA256 = hashlib.sha256(DATA).hexdigest()
POINTER = blob_oid(lfs_pointer(SHA256, len(DATA)))


@pytest.fixture
def bare(api_of: ApiOf, alice: User) -> MLModel:
    """A repository without ``.gitattributes``, and the bytes of a large file."""
    mlmodel = make_mlmodel(REPO, actor=alice, files={"a.txt": b"a"})
    delete = [CommitOperationDelete(".gitattributes")]
    api_of(alice).create_commit(REPO, delete, commit_message="Delete the attributes")
    store(DATA, actor=alice)
    return mlmodel


def commit_large(hub_url: str, actor: User, path: str) -> None:
    """What a client sends after it uploaded the bytes."""
    value = {"path": path, "algo": "sha256", "oid": SHA256, "size": len(DATA)}
    lines = [
        {"key": "header", "value": {"summary": "Add a large file"}},
        {"key": "lfsFile", "value": value},
    ]
    answer = send_lines(hub_url, actor, f"api/models/{REPO}/commit/main", lines)
    assert answer.status_code == 200, answer.text


def test_a_large_file_is_listed_as_one(
    api_of: ApiOf, hub_url: str, alice: User, bare: MLModel
) -> None:
    commit_large(hub_url, alice, "weights.txt")
    api = api_of(alice)
    (entry,) = api.get_paths_info(REPO, "weights.txt")
    assert isinstance(entry, RepoFile)
    assert (entry.blob_id, entry.size) == (POINTER, len(DATA))
    assert entry.lfs is not None
    assert (entry.lfs.sha256, entry.lfs.size) == (SHA256, len(DATA))
    metadata = get_hf_file_metadata(f"{hub_url}/{REPO}/resolve/main/weights.txt")
    assert (metadata.etag, metadata.size) == (SHA256, len(DATA))


def test_it_stays_one_when_it_is_copied_and_when_other_files_change(
    api_of: ApiOf, hub_url: str, alice: User, bare: MLModel
) -> None:
    commit_large(hub_url, alice, "weights.txt")
    operations = [
        CommitOperationCopy("weights.txt", "copy.txt"),
        CommitOperationAdd("b.txt", b"b"),
    ]
    api_of(alice).create_commit(REPO, operations, commit_message="Copy")
    copy = {"path": "again.txt", "srcPath": "copy.txt"}
    lines = [
        {"key": "header", "value": {"summary": "Copy by the hub"}},
        {"key": "copyFile", "value": copy},
    ]
    assert send_lines(hub_url, alice, f"api/models/{REPO}/commit/main", lines).status_code == 200
    revision = revision_get(bare)
    for path in ["weights.txt", "copy.txt", "again.txt"]:
        file = file_get(revision, path)
        assert (file.is_lfs, file.oid, file.blob_id) == (True, POINTER, SHA256), path
    assert not file_get(revision, "b.txt").is_lfs


def test_the_same_bytes_sent_inline_are_no_large_file(
    api_of: ApiOf, alice: User, bare: MLModel
) -> None:
    api_of(alice).upload_file(repo_id=REPO, path_or_fileobj=DATA, path_in_repo="weights.txt")
    assert not file_get(revision_get(bare), "weights.txt").is_lfs
