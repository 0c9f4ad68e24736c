"""A second version of a large file is downloaded by what differs from the first."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcfair import difference
from hpcfair.body import blocks
from hpcfair.client import Client
from hpcfair.errors import NotFound
from hpcfair.snapshot import snapshot
from registry.services.storage.chunking import blobs_chunk
from registry.tables import User

NAME = "alice/m"
CARD = "---\nlicense: mit\n---\n\n# M\n\nA model whose weights change from version to version.\n"
_NOISE = np.random.default_rng(11).bytes(6_000_000)
#: Two changes, one of which moves what follows.
_CHANGED = _NOISE[:1_500_000] + b"inserted" + _NOISE[1_500_000:4_000_000] + bytes(1_000)
_SECOND = _CHANGED + _NOISE[4_001_000:]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of each response with a file that the client reads."""
    lengths: list[int] = []

    def counting(response: Any) -> Iterator[bytes]:
        for block in blocks(response):
            lengths.append(len(block))
            yield block

    monkeypatch.setattr("hpcfair.transfer.blocks", counting)
    return lengths


def _commit(client: Client, folder: Path, content: bytes) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "weights.safetensors").write_bytes(content)
    (folder / "README.md").write_text(CARD)
    oid = client.save(folder, NAME, wait=False).oid
    blobs_chunk()
    return oid


def test_a_second_version_is_downloaded_by_what_differs(
    as_alice: Client, tmp_path: Path, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    totals: list[tuple[int, int]] = []

    @contextmanager
    def metered(_: str, total: int) -> Iterator[Any]:
        meter = _Meter()
        yield meter
        totals.append((total, meter.done))

    monkeypatch.setattr("hpcfair.download.transferring", metered)
    first = _commit(as_alice, tmp_path / "model", _NOISE)
    snapshot(as_alice.http, as_alice.cache, NAME, first)
    assert sum(sent) >= len(_NOISE)
    sent.clear()
    second = _commit(as_alice, tmp_path / "model", _SECOND)
    _, folder = snapshot(as_alice.http, as_alice.cache, NAME, second)
    assert (folder / "weights.safetensors").read_bytes() == _SECOND
    # Two changes of at most three chunks of 128 KiB each.
    assert 0 < sum(sent) < 800_000
    # The bar counts what was copied, too.
    assert all(total == done for total, done in totals)


class _Meter:
    done = 0

    def advance(self, amount: int) -> None:
        self.done += amount


def test_a_pulled_file_is_brought_up_to_date(
    as_alice: Client, tmp_path: Path, sent: list[int]
) -> None:
    first = _commit(as_alice, tmp_path / "model", _NOISE)
    second = _commit(as_alice, tmp_path / "model", _SECOND)
    mine = tmp_path / "mine"
    as_alice.pull(NAME, mine, revision=first)
    sent.clear()
    as_alice.pull(NAME, mine, revision=second)
    assert (mine / "weights.safetensors").read_bytes() == _SECOND
    assert 0 < sum(sent) < 800_000


def test_an_untrue_answer_or_a_damaged_file_costs_a_whole_download(
    as_alice: Client, tmp_path: Path, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _commit(as_alice, tmp_path / "model", _NOISE)
    second = _commit(as_alice, tmp_path / "model", _SECOND)
    mine = tmp_path / "mine"
    as_alice.pull(NAME, mine, revision=first)
    place = mine / "weights.safetensors"

    def untrue(*_: object) -> list[difference.LocalRange]:
        return [difference.LocalRange(0, place, 1_000_000, 2_000_000)]

    monkeypatch.setattr("hpcfair.checkout.local_ranges", untrue)
    as_alice.pull(NAME, mine, revision=second)
    assert place.read_bytes() == _SECOND
    assert sum(sent) > 2 * len(_SECOND)


def test_only_readers_compare_files_and_only_files_of_one_model(
    client_of: Callable[..., Client], alice: User, bob: User, tmp_path: Path
) -> None:
    mine = client_of(alice)
    _commit(mine, tmp_path / "model", _NOISE)
    _commit(mine, tmp_path / "model", _SECOND)
    first, second = (hashlib.sha256(content).hexdigest() for content in (_NOISE, _SECOND))
    address = f"/api/v1/models/{NAME}/equal-ranges"
    with pytest.raises(NotFound):
        mine.http.get(address, {"sha256": first, "earlier": "0" * 64})
    assert mine.http.get(address, {"sha256": second, "earlier": first})["items"]
    client_of(alice).http.json("PATCH", f"/api/v1/models/{NAME}", body={"visibility": "private"})
    with pytest.raises(NotFound):
        client_of(bob).http.get(address, {"sha256": second, "earlier": first})
