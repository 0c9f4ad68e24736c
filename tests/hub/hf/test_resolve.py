"""The bytes of a file, and what is told of them in headers."""

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from huggingface_hub import get_hf_file_metadata, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from registry.selectors.repository.revision import file_get, revision_get
from registry.services.repository.mlmodel import mlmodel_move, mlmodel_update
from registry.services.repository.ref import ref_create
from registry.states import Gate, RefKind, RepositoryKind
from registry.tables import MLModel, Namespace, User
from tests.factories import commit_files, make_mlmodel, make_token
from tests.hub.hf.conftest import ApiOf

pytestmark = pytest.mark.django_db(transaction=True)

ID = "lab/files"
BYTES = bytes(range(256)) * 8


@pytest.fixture
def files(lab: Namespace, charlie: User) -> MLModel:
    """``lab/files``: a small file, a large one, an empty one."""
    contents = {"small.txt": "hello", "in/large.bin": BYTES, "empty": ""}
    return make_mlmodel(ID, actor=charlie, files=contents)


@pytest.fixture
def web(hub_url: str, files: MLModel) -> Iterator[httpx.Client]:
    """Fetches what lies below ``lab/files/resolve``, and follows nothing."""
    with httpx.Client(base_url=f"{hub_url}/{ID}/resolve/") as client:
        yield client


def test_a_small_file_is_named_by_git_and_a_large_one_by_its_sha256(
    web: httpx.Client, files: MLModel
) -> None:
    revision = revision_get(files)
    for path, name in [
        ("small.txt", file_get(revision, "small.txt").oid),
        ("in/large.bin", file_get(revision, "in/large.bin").blob.sha256),
        ("empty", file_get(revision, "empty").oid),
    ]:
        head = web.head(f"main/{path}")
        whole = web.get(f"main/{path}")

        for answer in (head, whole):
            assert answer.status_code == 200
            assert answer.headers["ETag"] == answer.headers["X-Linked-ETag"] == f'"{name}"'
            assert answer.headers["X-Repo-Commit"] == revision.oid
            assert answer.headers["X-Linked-Size"] == str(len(whole.content))
            # The server of tests, unlike others, leaves a length of 0 out of answers to HEAD.
            assert answer.headers.get("Content-Length", "0") == str(len(whole.content))
            assert answer.headers["Accept-Ranges"] == "bytes"
            assert "X-Xet-Hash" not in answer.headers
        assert path.rpartition("/")[2] in head.headers["Content-Disposition"]


def test_the_client_reads_what_it_needs_from_the_headers(
    api_of: ApiOf, files: MLModel, hub_url: str
) -> None:
    told = get_hf_file_metadata(hf_hub_url(ID, "in/large.bin", endpoint=hub_url), token=False)

    revision = revision_get(files)
    assert told.commit_hash == revision.oid
    assert told.etag == file_get(revision, "in/large.bin").blob.sha256
    assert told.size == len(BYTES)
    assert told.xet_file_data is None


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=5-", 5, 2047),
        ("bytes=-7", 2041, 2047),
        ("bytes=9-9999", 9, 2047),
    ],
)
def test_parts_of_a_file_can_be_fetched(
    web: httpx.Client, asked: str, first: int, last: int
) -> None:
    answer = web.get("main/in/large.bin", headers={"Range": asked})

    assert answer.status_code == 206
    assert answer.content == BYTES[first : last + 1]
    assert answer.headers["Content-Range"] == f"bytes {first}-{last}/2048"
    assert answer.headers["X-Linked-Size"] == "2048"
    assert len(answer.headers["X-Repo-Commit"]) == 40


def test_a_part_behind_the_end_is_refused_with_the_size(web: httpx.Client) -> None:
    answer = web.get("main/in/large.bin", headers={"Range": "bytes=2048-"})

    assert (answer.status_code, answer.headers["Content-Range"]) == (416, "bytes */2048")


def test_bytes_that_did_not_change_are_not_sent_again(web: httpx.Client) -> None:
    name = web.head("main/small.txt").headers["ETag"]

    same = web.get("main/small.txt", headers={"If-None-Match": name})
    part = {"Range": "bytes=1-2"}
    resumed = web.get("main/small.txt", headers={**part, "If-Range": name})
    changed = web.get("main/small.txt", headers={**part, "If-Range": '"x"'})

    assert (same.status_code, same.content) == (304, b"")
    assert (same.headers["ETag"], len(same.headers["X-Repo-Commit"])) == (name, 40)
    assert (resumed.status_code, resumed.content) == (206, b"el")
    assert (changed.status_code, changed.content) == (200, b"hello")


def test_nginx_is_told_the_same_headers(
    web: httpx.Client, files: MLModel, settings: object
) -> None:
    settings.ACCEL_PREFIX = "/_blobs/"  # type: ignore[attr-defined]
    answer = web.get("main/in/large.bin")

    sha256 = file_get(revision_get(files), "in/large.bin").blob.sha256
    assert answer.headers["X-Accel-Redirect"].endswith(sha256)
    assert answer.headers["ETag"] == answer.headers["X-Linked-ETag"] == f'"{sha256}"'
    assert answer.headers["X-Linked-Size"] == "2048"
    assert len(answer.headers["X-Repo-Commit"]) == 40


def test_a_missing_file_tells_the_revision_it_is_missing_from(
    api_of: ApiOf, web: httpx.Client, files: MLModel, hub_url: str
) -> None:
    for path in ["gone.txt", "in", "IN/large.bin", "small.txt/", "x%00y", "a%0Ab", "../small.txt"]:
        answer = web.get(f"main/{path}")
        assert answer.status_code == 404, path
    head = web.head("main/gone.txt")
    assert head.headers["X-Error-Code"] == "EntryNotFound"
    assert head.headers["X-Repo-Commit"] == revision_get(files).oid
    with pytest.raises(EntryNotFoundError):
        get_hf_file_metadata(hf_hub_url(ID, "gone", endpoint=hub_url), token=False)


def test_names_of_revisions_may_hold_slashes(
    web: httpx.Client, files: MLModel, charlie: User
) -> None:
    head = revision_get(files)
    for kind, name in [
        (RefKind.BRANCH, "in"),
        (RefKind.BRANCH, "team/idea"),
        (RefKind.TAG, "team"),
        (RefKind.TAG, "v1/rc/2"),
    ]:
        ref_create(actor=charlie, mlmodel=files, kind=kind, name=name, revision=head)
    new = commit_files(files, {"idea/x": "tag's"}, actor=charlie)
    ref_create(actor=charlie, mlmodel=files, kind=RefKind.TAG, name="later", revision=new)
    own = commit_files(files, {"x": "branch's"}, actor=charlie, branch="team/idea")

    for spelled, path, text in [
        ("main", "small.txt", "hello"),
        ("in", "small.txt", "hello"),
        ("team/idea", "x", "branch's"),
        ("refs/heads/team/idea", "x", "branch's"),
        ("refs/tags/later", "idea/x", "tag's"),
        ("refs/tags/v1/rc/2", "small.txt", "hello"),
        ("v1/rc/2", "small.txt", "hello"),
        (own.oid, "x", "branch's"),
        (own.oid[:8], "x", "branch's"),
        (own.oid.upper(), "x", "branch's"),
    ]:
        for rev in (spelled, quote(spelled, safe="")):
            assert web.get(f"{rev}/{path}").text == text, rev
    for rev in ["gone", "refs/pr/7", "refs/convert/parquet", "v1/rc", "refs", "0" * 40, "%20"]:
        answer = web.get(f"{rev}/small.txt")
        assert (answer.status_code, answer.headers["X-Error-Code"]) == (404, "RevisionNotFound")


def test_what_an_address_names_for_ever_may_be_kept_for_ever(
    web: httpx.Client, files: MLModel, charlie: User
) -> None:
    oid = revision_get(files).oid
    kept = web.head(f"{oid}/small.txt").headers["Cache-Control"]
    checked = web.head("main/small.txt").headers["Cache-Control"]
    mlmodel_update(actor=charlie, mlmodel=files, gate=Gate.AUTO)
    token = {"Authorization": f"Bearer {make_token(charlie)}"}
    gated = web.head(f"{oid}/small.txt", headers=token).headers["Cache-Control"]

    assert (kept, checked) == ("public, max-age=31536000, immutable", "public, no-cache")
    assert gated.startswith("private")


def test_files_behind_a_gate_are_for_those_let_in(
    api_of: ApiOf, files: MLModel, charlie: User, bob: User, hub_url: str
) -> None:
    mlmodel_update(actor=charlie, mlmodel=files, gate=Gate.MANUAL)

    for user, status in [(None, 401), (bob, 403)]:
        with pytest.raises(GatedRepoError) as error:
            api_of(user).hf_hub_download(ID, "small.txt")
        assert error.value.response.status_code == status
    assert api_of(charlie).hf_hub_download(ID, "small.txt")


def test_private_files_are_not_there_for_strangers(
    api_of: ApiOf, secret: MLModel, bob: User, charlie: User, hub_url: str
) -> None:
    for user in (None, bob):
        with pytest.raises(RepositoryNotFoundError):
            api_of(user).hf_hub_download("lab/secret", "README.md")
    assert api_of(charlie).hf_hub_download("lab/secret", "README.md")


def test_moved_files_are_found_at_their_new_address(
    api_of: ApiOf, web: httpx.Client, files: MLModel, charlie: User
) -> None:
    odd = "odd %2F+#?&=é.txt"
    commit_files(files, {odd: "odd"}, actor=charlie)
    mlmodel_move(actor=charlie, mlmodel=files, namespace="lab", name="new")
    api = api_of()

    moved = web.head(f"main/{quote(odd)}?download=true")
    assert moved.status_code == 307
    assert moved.headers["Location"].startswith("/lab/new/resolve/main/odd%20%252F")
    assert moved.headers["Location"].endswith("?download=true")
    assert Path(api.hf_hub_download(ID, odd)).read_text() == "odd"
    fetched = Path(api.hf_hub_download("LAB/Files", "small.txt"))
    assert fetched.read_text() == "hello"
    assert api.model_info(ID).id == "lab/new"
    with pytest.raises(RevisionNotFoundError):
        api.model_info(ID, revision="gone")


def counted_within(mlmodel: MLModel, downloads: int, *, seconds: float = 60.0) -> bool:
    """Whether so many downloads are counted soon: it happens after the last byte is out."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        mlmodel.refresh_from_db()
        if mlmodel.downloads == downloads:
            return True
        time.sleep(0.02)
    return False


def test_one_download_is_counted_for_a_whole_snapshot(api_of: ApiOf, files: MLModel) -> None:
    api_of().snapshot_download(ID)
    counted = counted_within(files, 1)

    # What is in the cache is asked for, and not sent.
    api_of().snapshot_download(ID)
    time.sleep(0.1)

    assert counted
    assert counted_within(files, 1)


def test_data_sets_have_files_under_their_own_address(
    api_of: ApiOf, lab: Namespace, charlie: User, hub_url: str
) -> None:
    contents = {"data/train.csv": "a,b\n1,2\n"}
    make_mlmodel("lab/stars", actor=charlie, files=contents, kind=RepositoryKind.DATASET)

    path = api_of().hf_hub_download("lab/stars", "data/train.csv", repo_type="dataset")

    assert Path(path).read_text() == "a,b\n1,2\n"
    answer = httpx.get(f"{hub_url}/lab/stars/resolve/main/data/train.csv")
    assert answer.headers["X-Error-Code"] == "RepoNotFound"
