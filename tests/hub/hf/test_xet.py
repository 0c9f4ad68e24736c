"""Uploads by Xet with the unmodified hf_xet against a live hub."""

import hashlib
from pathlib import Path

import numpy as np

from registry.selectors.blob import blobs_usable
from registry.tables import User, XetFile
from tests.factories import make_mlmodel
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
