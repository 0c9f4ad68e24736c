"""Downloads by chunks and by ranges where the bytes are kept in a bucket."""

import hashlib
import io
import random
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from hpcfair.body import blocks
from hpcfair.client import Client
from hpcfair.config import Config
from registry.services.storage.chunking import blobs_chunk
from registry.storage.s3_bucket import S3Address
from registry.tables import User
from tests.factories import make_token
from tests.hub.hf.conftest import ApiOf
from tests.programs import needs
from tests.registry.storage.conftest import bucket

__all__ = ["bucket"]

pytestmark = [
    needs("weed"),
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    # The client's own way of calling httpx.
    pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning"),
]
# Of a seed: of other bytes, one file in hundreds has no chunk end for half a megabyte.
_NOISE = random.Random(0).randbytes(4_000_000)  # noqa: S311
_SECOND = _NOISE[:2_000_000] + b"inserted" + _NOISE[2_000_000:]


@pytest.fixture(autouse=True)
def bucket_of_the_hub(bucket: S3Address, settings: Any, data_dir: Path) -> None:
    """The hub keeps its bytes in a corner of the bucket that is this test's own."""
    address = replace(bucket, prefix=secrets.token_hex(8))
    settings.BLOBS = f"s3://{address.bucket}/{address.prefix}"
    settings.S3_ENDPOINT, settings.S3_REGION = address.endpoint, address.region
    settings.S3_KEY, settings.S3_SECRET = address.key, address.secret


@pytest.fixture
def versions(api_of: ApiOf, alice: User) -> list[str]:
    """Commit ids of two versions of a large file."""
    api = api_of(alice)
    api.create_repo("alice/m")
    oids = []
    for content in (_NOISE, _SECOND):
        stream = io.BytesIO(content)
        commit = api.upload_file(path_or_fileobj=stream, path_in_repo="w.bin", repo_id="alice/m")
        oids.append(str(commit.oid))
        blobs_chunk()
    return oids


def test_a_range_of_chunks_is_read_from_the_bucket(
    api_of: ApiOf, alice: User, hub_url: str, versions: list[str]
) -> None:
    api = api_of(alice)
    assert Path(api.hf_hub_download("alice/m", "w.bin")).read_bytes() == _SECOND
    (entry,) = api.get_paths_info("alice/m", ["w.bin"])
    own = {"Authorization": f"Bearer {api.token}"}
    ticket = httpx.get(f"{hub_url}/api/models/alice/m/xet-read-token/main", headers=own).json()
    headers = {"Authorization": f"Bearer {ticket['accessToken']}"}
    place = f"{ticket['casUrl']}/v2/reconstructions/{entry.xet_hash}"
    answer = httpx.get(place, headers=headers).raise_for_status().json()
    fetch = next(iter(answer["xorbs"].values()))[0]
    whole = httpx.get(fetch["url"]).content
    part = httpx.get(fetch["url"], headers={"Range": "bytes=1000-200999"})
    assert (part.status_code, part.content) == (206, whole[1000:201_000])


@pytest.mark.parametrize("direct", [True, False])
def test_a_second_version_comes_from_the_bucket_by_what_differs(
    alice: User,
    hub_url: str,
    versions: list[str],
    tmp_path: Path,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    *,
    direct: bool,
) -> None:
    settings.S3_REDIRECT = direct
    lengths: list[int] = []

    def counting(response: httpx.Response) -> Iterator[bytes]:
        for block in blocks(response):
            lengths.append(len(block))
            yield block

    monkeypatch.setattr("hpcfair.transfer.blocks", counting)
    config = Config(hub_url, make_token(alice), tmp_path / "cache")
    with Client(config=config) as client:
        client.pull("alice/m", tmp_path / "m", revision=versions[0])
        lengths.clear()
        client.pull("alice/m", tmp_path / "m", revision=versions[1])
    actual = hashlib.sha256((tmp_path / "m" / "w.bin").read_bytes()).hexdigest()
    assert actual == hashlib.sha256(_SECOND).hexdigest()
    assert 0 < sum(lengths) < 500_000
