"""Large files by Git LFS: in one piece and in parts, by the real client and by hand."""

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import get_session

from registry.services.repository.mlmodel import mlmodel_update
from registry.tables import Blob, MLModel, User
from tests.factories import make_mlmodel, make_token, store
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.contents import contents, large_paths

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # The client's own way of calling httpx.
    pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning"),
]

REPO = "alice/net"
PART = 16_384
Batch = Callable[..., Any]


@pytest.fixture
def net(alice: User, settings: Any) -> MLModel:
    """alice's ``alice/net`` with one large file; parts are short."""
    settings.PART_BYTES = PART
    return make_mlmodel(REPO, actor=alice, files={"w.bin": b"weights"})


@pytest.fixture
def batch(hub_url: str) -> Batch:
    """Asks as ``user`` how to send or fetch objects; the answer."""

    def ask(user: User | None, operation: str, *objects: Any, repo: str = REPO, **more: Any) -> Any:
        named = [
            {"oid": hashlib.sha256(one).hexdigest(), "size": len(one)}
            if isinstance(one, bytes)
            else one
            for one in objects
        ]
        return get_session().post(
            f"{hub_url}/{repo}.git/info/lfs/objects/batch",
            json={"operation": operation, "objects": named, **more},
            headers={"Authorization": f"Bearer {make_token(user)}"} if user else {},
        )

    return ask


def test_files_of_any_length_arrive_in_one_piece_or_in_parts(
    api_of: ApiOf, alice: User, net: MLModel
) -> None:
    api = api_of(alice)
    lengths = (1, PART, PART + 1, 4 * PART, 4 * PART + 7)
    files = {f"{length}.bin": os.urandom(length) for length in lengths}
    for path, content in files.items():
        api.upload_file(repo_id=REPO, path_or_fileobj=io.BytesIO(content), path_in_repo=path)
    assert contents(net) == {"w.bin": b"weights", **files}
    assert large_paths(net) == set(contents(net))


def test_without_xet_a_folder_arrives_by_lfs(
    api_of: ApiOf, alice: User, net: MLModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    folder = tmp_path / "folder"
    folder.mkdir()
    files = {f"{n}.bin": os.urandom(PART // 2 * n) for n in range(1, 6)} | {"n.txt": b"small"}
    for path, content in files.items():
        (folder / path).write_bytes(content)
    api = api_of(alice)
    api.upload_folder(repo_id=REPO, folder_path=folder)
    assert contents(net) == {"w.bin": b"weights", **files}
    snapshot = Path(api.snapshot_download(REPO))
    assert all((snapshot / path).read_bytes() == content for path, content in files.items())


def test_what_its_sender_may_name_need_not_be_sent_again(
    batch: Batch, alice: User, bob: User, net: MLModel
) -> None:
    make_mlmodel("bob/own", actor=bob)
    store(b"bob's own", bob)

    def actions(user: User, content: bytes, repo: str) -> bool:
        [told] = batch(user, "upload", content, repo=repo).json()["objects"]
        return "actions" in told

    assert not actions(alice, b"weights", REPO)
    # Whoever can read it can name it; whoever cannot must prove to have it.
    assert not actions(bob, b"weights", "bob/own")
    assert not actions(bob, b"bob's own", "bob/own")
    assert actions(alice, b"bob's own", REPO)
    mlmodel_update(actor=alice, mlmodel=net, gate="manual")
    assert actions(bob, b"weights", "bob/own")


def test_what_is_told_to_be_here_stays_for_a_while(batch: Batch, alice: User, net: MLModel) -> None:
    old = store(b"long ago", alice)
    Blob.objects.filter(pk=old.pk).update(used_at="2020-01-01T00:00:00Z")
    batch(alice, "upload", b"long ago")
    assert Blob.objects.get(pk=old.pk).used_at.year > 2020


def test_a_part_may_be_sent_again_and_an_upload_completed_twice(
    batch: Batch, alice: User, net: MLModel
) -> None:
    content = os.urandom(2 * PART + 5)
    answer = batch(alice, "upload", content, transfers=["basic", "multipart"]).json()
    upload = answer["objects"][0]["actions"]["upload"]
    header = upload["header"]
    assert answer["transfer"] == "multipart"
    assert {*header} == {"chunk_size", "1", "2", "3"}
    parts = [content[at : at + PART] for at in range(0, len(content), PART)]
    etags = {}
    # Out of order, one of them twice, and first with other bytes.
    for number, part in [(3, parts[2]), (1, parts[1]), (2, parts[1]), (1, parts[0])]:
        answer = get_session().put(header[str(number)], content=part)
        assert answer.status_code == 200
        etags[number] = answer.headers["ETag"]
    done = {"oid": "", "parts": [{"partNumber": n, "etag": etag} for n, etag in etags.items()]}
    for _ in range(2):
        assert get_session().post(upload["href"], json=done).status_code == 200
    assert not batch(alice, "upload", content).json()["objects"][0].get("actions")


def test_verification_says_whether_the_object_arrived(
    batch: Batch, alice: User, net: MLModel
) -> None:
    actions = batch(alice, "upload", b"new").json()["objects"][0]["actions"]
    told = {"oid": hashlib.sha256(b"new").hexdigest(), "size": 3}
    assert get_session().post(actions["verify"]["href"], json=told).status_code == 404
    assert get_session().put(actions["upload"]["href"], content=b"new").status_code == 200
    assert get_session().post(actions["verify"]["href"], json=told).status_code == 200
    wrong = told | {"size": 4}
    assert get_session().post(actions["verify"]["href"], json=wrong).status_code == 404


def test_objects_are_fetched_without_credentials_and_in_ranges(
    batch: Batch, alice: User, net: MLModel
) -> None:
    answer = batch(None, "download", b"weights")
    assert answer.headers["Content-Type"] == "application/vnd.git-lfs+json"
    [told] = answer.json()["objects"]
    href = told["actions"]["download"]["href"]
    assert get_session().get(href).content == b"weights"
    part = get_session().get(href, headers={"Range": "bytes=2-4"})
    assert (part.status_code, part.content) == (206, b"igh")
    assert get_session().get(href, headers={"Range": "bytes=99-"}).status_code == 416


def test_a_data_set_has_its_large_files_below_datasets(
    api_of: ApiOf, batch: Batch, alice: User, net: MLModel
) -> None:
    api = api_of(alice)
    api.create_repo("alice/set", repo_type="dataset")
    rows = os.urandom(3 * PART)
    api.upload_file(
        repo_id="alice/set",
        repo_type="dataset",
        path_or_fileobj=io.BytesIO(rows),
        path_in_repo="rows.parquet",
    )
    [told] = batch(None, "download", rows, repo="datasets/alice/set").json()["objects"]
    assert get_session().get(told["actions"]["download"]["href"]).content == rows
    # Of a model of that name nothing is known.
    assert batch(alice, "download", rows, repo="alice/set").status_code == 404
