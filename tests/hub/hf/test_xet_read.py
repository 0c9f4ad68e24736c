"""Downloads by Xet with the unmodified client, and copies of files between repositories."""

import io
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from hf_xet import hash_files
from huggingface_hub import CommitOperationCopy, HfApi
from huggingface_hub.errors import HfHubHTTPError

from registry.selectors.storage.reconstruction import chunks_open
from registry.services.storage.chunking import blobs_chunk
from registry.tables import User, XorbRun
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.wire import status_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # The client's own way of calling httpx.
    pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning"),
]

_NOISE = np.random.default_rng(7).bytes(3_000_000)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int, int]]:
    """Blob, xorb, first and end of each range of chunks that the hub sends."""
    ranges: list[tuple[str, str, int, int]] = []

    def counting(sha256: str, xorb: str, first: int, end: int, *, skip: int) -> Any:
        ranges.append((sha256, xorb, first, end))
        return chunks_open(sha256, xorb, first, end, skip=skip)

    monkeypatch.setattr("hub.hf.xetread.chunks_open", counting)
    return ranges


def _put(api: HfApi, repository: str, content: bytes, path: str = "w.bin") -> None:
    """Upload by Git LFS, as clients do for streams."""
    api.create_repo(repository, exist_ok=True)
    stream = io.BytesIO(content)
    api.upload_file(path_or_fileobj=stream, path_in_repo=path, repo_id=repository)


def test_a_file_is_downloaded_by_its_chunks(
    api_of: ApiOf, alice: User, tmp_path: Path, served: list[tuple[str, str, int, int]]
) -> None:
    # The zeros are one chunk again and again.
    content = _NOISE + bytes(600_000)
    api = api_of(alice)
    api.create_repo("alice/m")
    (tmp_path / "w.bin").write_bytes(content)
    api.upload_file(path_or_fileobj=tmp_path / "w.bin", path_in_repo="w.bin", repo_id="alice/m")
    back = api.hf_hub_download("alice/m", "w.bin")
    assert Path(back).read_bytes() == content
    assert served
    (entry,) = api.get_paths_info("alice/m", ["w.bin"])
    (stored,) = hash_files([str(tmp_path / "w.bin")])
    assert entry.xet_hash == stored.hash


def test_a_second_version_names_the_chunks_of_the_first(
    api_of: ApiOf, alice: User, tmp_path: Path, served: list[tuple[str, str, int, int]]
) -> None:
    api = api_of(alice)
    _put(api, "alice/m", _NOISE)
    (entry,) = api.get_paths_info("alice/m", ["w.bin"])
    # Before its chunks are known, it is downloaded whole.
    assert entry.xet_hash is None
    assert blobs_chunk() == 1
    assert Path(api.hf_hub_download("alice/m", "w.bin")).read_bytes() == _NOISE
    first = {(xorb, chunk) for _, xorb, start, end in served for chunk in range(start, end)}
    served.clear()
    changed = _NOISE[:1_500_000] + b"changed" + _NOISE[1_500_000:]
    _put(api, "alice/m", changed)
    assert blobs_chunk() == 1
    assert Path(api.hf_hub_download("alice/m", "w.bin")).read_bytes() == changed
    second = {(xorb, chunk) for _, xorb, start, end in served for chunk in range(start, end)}
    # A client that keeps chunks by xorb and position lacks only these.
    assert 1 <= len(second - first) <= 2
    assert len(second & first) > 30


def test_the_hub_finds_the_chunks_that_clients_find(
    api_of: ApiOf, alice: User, tmp_path: Path
) -> None:
    api = api_of(alice)
    for number, size in enumerate((100, 8192, 131_072, 1_500_000, 3_000_000)):
        content = _NOISE[:size] + bytes(number * 100_000)
        (tmp_path / "w").write_bytes(content)
        _put(api, "alice/m", content, f"{number}.bin")
        blobs_chunk()
        (entry,) = api.get_paths_info("alice/m", [f"{number}.bin"])
        (stored,) = hash_files([str(tmp_path / "w")])
        assert entry.xet_hash == stored.hash


def test_files_are_copied_between_repositories(api_of: ApiOf, alice: User, bob: User) -> None:
    api = api_of(alice)
    _put(api, "alice/m", _NOISE)
    api.upload_file(path_or_fileobj=b"{}", path_in_repo="config.json", repo_id="alice/m")
    blobs_chunk()
    api.update_repo_settings("alice/m", visibility="private")
    api.create_repo("alice/n", visibility="private")
    api.copy_files("hf://alice/m/", "hf://alice/n/")
    assert Path(api.hf_hub_download("alice/n", "w.bin")).read_bytes() == _NOISE
    assert Path(api.hf_hub_download("alice/n", "config.json")).read_bytes() == b"{}"
    # Neither from somebody's private files nor to somebody else's repository.
    other = api_of(bob)
    other.create_repo("bob/n")
    for source, target in (("alice/m", "bob/n"), ("bob/n", "alice/n")):
        copy = CommitOperationCopy("w.bin", "w.bin", src_repo_id=source, src_repo_type="model")
        with pytest.raises(HfHubHTTPError) as caught:
            other.create_commit(target, [copy], commit_message="Copy")
        assert status_of(caught) in {403, 404}


def test_a_private_file_is_for_its_readers(
    api_of: ApiOf, hub_url: str, alice: User, bob: User
) -> None:
    api = api_of(alice)
    _put(api, "alice/m", _NOISE)
    blobs_chunk()
    (entry,) = api.get_paths_info("alice/m", ["w.bin"])
    own = {"Authorization": f"Bearer {api.token}"}
    ticket = httpx.get(f"{hub_url}/api/models/alice/m/xet-read-token/main", headers=own).json()
    headers = {"Authorization": f"Bearer {ticket['accessToken']}"}
    place = f"{ticket['casUrl']}/v2/reconstructions/{entry.xet_hash}"
    answer = httpx.get(place, headers=headers).raise_for_status().json()
    # hf_xet 1.2 and 1.1 name what is now the first version so.
    for name in ("v1/reconstructions", "reconstructions", "reconstruction"):
        older = httpx.get(f"{ticket['casUrl']}/{name}/{entry.xet_hash}", headers=headers)
        assert older.raise_for_status().json()["terms"] == answer["terms"]
        assert older.json()["fetch_info"].keys() == answer["xorbs"].keys()
    past = httpx.get(place, headers=headers | {"Range": "bytes=3000000-"})
    assert past.status_code == 416
    ((fetch,),) = answer["xorbs"].values()
    assert httpx.get(fetch["url"]).status_code == 200
    assert httpx.get(fetch["url"][:-3] + "abc").status_code == 403
    api.update_repo_settings("alice/m", visibility="private")
    # Another repository's ticket does not open it, and a ticket of nobody's no longer.
    api_of(bob).create_repo("bob/m")
    theirs = {"Authorization": f"Bearer {api_of(bob).token}"}
    token = f"{hub_url}/api/models/bob/m/xet-read-token/main"
    foreign = httpx.get(token, headers=theirs).json()["accessToken"]
    assert httpx.get(place, headers={"Authorization": f"Bearer {foreign}"}).status_code == 404
    assert httpx.get(place).status_code == 401
    assert httpx.get(fetch["url"]).status_code == 200
    XorbRun.objects.all().delete()
    assert httpx.get(place, headers=headers).status_code == 404
