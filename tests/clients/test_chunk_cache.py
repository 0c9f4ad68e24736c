"""A client that keeps chunks downloads a second version by its new chunks."""

import hashlib
from typing import Any

import numpy as np
import pytest

from registry.selectors.storage.reconstruction import chunks_open
from registry.services.storage.chunking import blobs_chunk
from registry.tables import User
from tests.clients.environments import run
from tests.factories import commit_files, make_mlmodel

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

_NOISE = np.random.default_rng(3).bytes(6_000_000)
_SECOND = _NOISE[:3_000_000] + bytes(100_000) + _NOISE[3_100_000:]


def test_a_second_version_is_downloaded_by_its_new_chunks(
    as_alice: dict[str, str], alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranges: list[tuple[str, int, int]] = []

    def counting(sha256: str, xorb: str, first: int, end: int, *, skip: int) -> Any:
        ranges.append((xorb, first, end))
        return chunks_open(sha256, xorb, first, end, skip=skip)

    monkeypatch.setattr("hub.hf.xetread.chunks_open", counting)
    mlmodel = make_mlmodel("alice/net", actor=alice)
    oids = []
    for content in (_NOISE, _SECOND):
        oids.append(commit_files(mlmodel, {"weights.bin": content}, actor=alice).oid)
        blobs_chunk()
    # It does not connect to the name localhost.
    settings.HUB_URL = settings.HUB_URL.replace("localhost", "127.0.0.1")
    variables = as_alice | {
        "HF_ENDPOINT": settings.HUB_URL,
        "HF_XET_CHUNK_CACHE_SIZE_BYTES": "1000000000",
    }

    first = run("xet-1.1", "versions", "alice/net", "weights.bin", oids[0], **variables)
    chunks = sum(end - start for _, start, end in ranges)
    ranges.clear()
    second = run("xet-1.1", "versions", "alice/net", "weights.bin", oids[1], **variables)

    assert [first.strip(), second.strip()] == [
        hashlib.sha256(content).hexdigest() for content in (_NOISE, _SECOND)
    ]
    assert chunks > 30
    # What was overwritten, and what adjoins it.
    assert 0 < sum(end - start for _, start, end in ranges) <= 6
