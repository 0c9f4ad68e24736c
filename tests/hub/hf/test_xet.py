"""Uploads by Xet with the unmodified hf_xet against a live hub."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from registry.selectors.blob import blob_open, blobs_usable
from registry.states import Scope
from registry.tables import User, XetFile, Xorb
from tests.factories import make_mlmodel, make_token
from tests.hub.hf.xet_uploads import XetClient

ClientOf = Callable[..., XetClient]


@pytest.fixture
def client_of(hub_url: str, tmp_path: Path) -> ClientOf:
    """Makes a client of a person, whose cache is empty unless ``home`` names a used one."""

    def make(user: User, home: str = "home", scope: Scope = Scope.WRITE) -> XetClient:
        return XetClient(hub_url, tmp_path / home, make_token(user, scope))

    return make


def _content(user: User, sha256: str) -> bytes:
    with blob_open(blobs_usable(user, [sha256])[sha256]) as stream:
        return stream.read()


def _sent_bytes() -> int:
    """What all xorbs that were kept have, packed."""
    return sum(Xorb.objects.exclude(payload=None).values_list("payload__size_bytes", flat=True))


def test_what_was_uploaded_is_an_ordinary_blob_of_the_uploader(
    client_of: ClientOf, alice: User, bob: User, tmp_path: Path
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
    done = client_of(alice).upload("models/alice/m", *(tmp_path / name for name in contents))
    assert [row["sha256"] for row in done] == [
        hashlib.sha256(content).hexdigest() for content in contents.values()
    ]
    for row, content in zip(done, contents.values(), strict=True):
        assert _content(alice, row["sha256"]) == content
        assert XetFile.objects.get(hash=row["xet"]).blob_id == row["sha256"]
    assert not blobs_usable(bob, [row["sha256"] for row in done])
