"""Uploads by Xet with the unmodified hf_xet against a live hub."""

import hashlib
from pathlib import Path

import numpy as np

from registry.selectors.storage.blob import blobs_usable
from registry.tables import User, XetFile, Xorb
from tests.factories import make_mlmodel, readme
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.xet_uploads import ClientOf, content_of


def test_what_was_uploaded_is_an_ordinary_blob_of_the_uploader(
    xet_client_of: ClientOf, alice: User, bob: User, tmp_path: Path
) -> None:
    make_mlmodel("alice/m", actor=alice)
    rng = np.random.default_rng(1)
    # Each way of packing a chunk: as it is, by LZ4, by byte planes and LZ4.
    contents = {
        "random": rng.bytes(3_000_001),
        "text": b"galaxies and stars and " * 90_000,
        "floats": rng.normal(size=300_000).astype(np.float32).tobytes() + b"odd",
        "tiny": b"x",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    done = xet_client_of(alice).upload("models/alice/m", *(tmp_path / name for name in contents))
    assert [row["sha256"] for row in done] == [
        hashlib.sha256(content).hexdigest() for content in contents.values()
    ]
    for row, content in zip(done, contents.values(), strict=True):
        assert content_of(alice, row["sha256"]) == content
        assert XetFile.objects.get(hash=row["xet"]).blob_id == row["sha256"]
    assert not blobs_usable(bob, [row["sha256"] for row in done])


def test_a_file_that_the_hub_client_uploads_by_itself_comes_back_whole(
    api_of: ApiOf, alice: User, tmp_path: Path
) -> None:
    api, content = api_of(alice), np.random.default_rng(2).bytes(2_000_000)
    api.create_repo("alice/m")
    (tmp_path / "model.safetensors").write_bytes(content)
    for path in (tmp_path / "model.safetensors", content):
        api.upload_file(path_or_fileobj=path, path_in_repo="model.safetensors", repo_id="alice/m")
        back = api.hf_hub_download("alice/m", "model.safetensors", force_download=True)
        assert Path(back).read_bytes() == content
    assert XetFile.objects.count() == Xorb.objects.count() == 1
    assert api.verify_repo_checksums("alice/m").mismatches == []


def test_a_folder_that_the_hub_client_uploads_comes_back_whole(
    api_of: ApiOf, alice: User, tmp_path: Path
) -> None:
    rng, folder = np.random.default_rng(3), tmp_path / "folder"
    folder.mkdir()
    for number in range(12):
        (folder / f"part-{number}.bin").write_bytes(rng.bytes(20_000 + 1000 * number))
    (folder / "README.md").write_text(readme())
    (folder / "empty.bin").touch()
    api = api_of(alice)
    api.create_repo("alice/data", repo_type="dataset")
    api.upload_folder(repo_id="alice/data", folder_path=folder, repo_type="dataset")
    back = Path(api.snapshot_download("alice/data", repo_type="dataset"))
    for path in folder.iterdir():
        assert (back / path.name).read_bytes() == path.read_bytes()
    assert XetFile.objects.count() == 12


def test_a_reader_proposes_a_large_file_by_a_pull_request(
    api_of: ApiOf, alice: User, bob: User
) -> None:
    content = np.random.default_rng(4).bytes(500_000)
    api_of(alice).create_repo("alice/m")
    api = api_of(bob)
    commit = api.upload_file(
        path_or_fileobj=content, path_in_repo="w.bin", repo_id="alice/m", create_pr=True
    )
    back = api.hf_hub_download("alice/m", "w.bin", revision=commit.pr_revision)
    assert Path(back).read_bytes() == content
