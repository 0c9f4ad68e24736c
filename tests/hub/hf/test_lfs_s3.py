"""Git LFS where the bytes are kept in a bucket: the client sends parts there itself."""

import io
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from registry.storage.s3_bucket import S3Address
from registry.tables import User
from tests.factories import make_mlmodel
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.contents import contents
from tests.hub.hf.test_lfs import Batch, batch
from tests.registry.storage.conftest import bucket

__all__ = ["batch", "bucket"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    # The client's own way of calling httpx.
    pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning"),
]

PART = 5 << 20


@pytest.fixture
def address(bucket: S3Address, settings: Any) -> S3Address:
    """The hub keeps its bytes in a corner of the bucket that is this test's own."""
    address = replace(bucket, prefix=secrets.token_hex(8))
    settings.BLOBS = f"s3://{address.bucket}/{address.prefix}"
    settings.S3_ENDPOINT, settings.S3_REGION = address.endpoint, address.region
    settings.S3_KEY, settings.S3_SECRET = address.key, address.secret
    settings.PART_BYTES = PART
    return address


@pytest.mark.parametrize("direct", [True, False])
def test_large_and_small_files_arrive_and_come_back(
    api_of: ApiOf, batch: Batch, alice: User, address: S3Address, settings: Any, *, direct: bool
) -> None:
    settings.S3_REDIRECT = direct
    net = make_mlmodel("alice/net", actor=alice)
    api, large = api_of(alice), os.urandom(PART + 1000)
    [told] = batch(alice, "upload", large, transfers=["multipart"]).json()["objects"]
    part = told["actions"]["upload"]["header"]["2"]
    assert part.startswith(address.endpoint if direct else api.endpoint)
    for path, content in {"large.bin": large, "small.bin": b"small"}.items():
        api.upload_file(repo_id="alice/net", path_or_fileobj=io.BytesIO(content), path_in_repo=path)
        back = api.hf_hub_download("alice/net", path)
        assert Path(back).read_bytes() == content
    assert contents(net) == {"large.bin": large, "small.bin": b"small"}
