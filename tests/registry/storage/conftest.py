"""An object store for the tests of this folder."""

from collections.abc import Iterator

import pytest

from registry.storage.s3_bucket import S3Address
from tests.registry.storage.server import running


@pytest.fixture(scope="session")
def bucket() -> Iterator[S3Address]:
    """A bucket behind a real S3 API, shared by the tests of a process: use prefixes."""
    with running() as address:
        yield address
