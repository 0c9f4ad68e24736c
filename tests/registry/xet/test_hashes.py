"""The hashes, against what the real client computed."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.xet.hashes import NOTHING, MerkleTree, _parent, chunk_hash, file_hash, parsed, spelled
from registry.xet.xorb import XorbReader

GOLDEN = Path(__file__).parent / "golden"
FACTS = json.loads((GOLDEN / "facts.json").read_text())


@pytest.mark.parametrize("name", ["xorb", "many"])
def test_a_real_xorb_has_the_hash_its_client_gave_it(name: str) -> None:
    data = (GOLDEN / f"{name}.bin").read_bytes()
    reader = XorbReader(io.BytesIO(data), parsed(FACTS[name]) or b"")
    while reader.read(100):
        pass
    assert reader.chunk_count == {"xorb": 3, "many": 90}[name]


def test_a_real_file_has_the_hash_its_client_gave_it() -> None:
    content, tree = b"galaxies and stars and " * 400, MerkleTree()
    tree.add(chunk_hash(content), len(content))
    assert spelled(file_hash(tree.root())) == FACTS["files"]["text"]["hash"]


def test_nothing_has_the_hash_of_zeros() -> None:
    assert MerkleTree().root() == NOTHING
    assert file_hash(NOTHING) == NOTHING


@given(st.binary(min_size=32, max_size=32))
def test_a_hash_is_read_as_it_was_spelled(digest: bytes) -> None:
    assert parsed(spelled(digest)) == digest


@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "g" * 64, " " + "0" * 63, "٣" * 64])
def test_what_spells_no_hash_is_none(text: str) -> None:
    assert parsed(text) is None


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=3), st.integers(0, 5)), max_size=60))
def test_the_tree_is_that_of_the_definition(leaves: list[tuple[bytes, int]]) -> None:
    nodes, tree = [(chunk_hash(data), length) for data, length in leaves], MerkleTree()
    for digest, length in nodes:
        tree.add(digest, length)
    assert tree.root() == _by_definition(nodes)


def _by_definition(nodes: list[tuple[bytes, int]]) -> bytes:
    """All nodes of a height at once, grouped from the left: draft-denis-xet, "Merkle tree"."""
    while len(nodes) > 1:
        parents = []
        while nodes:
            cut = next((n + 1 for n in range(2, min(9, len(nodes))) if _ends(nodes[n][0])), 9)
            parents.append(_parent(nodes[:cut]))
            nodes = nodes[cut:]
        nodes = parents
    return nodes[0][0] if nodes else NOTHING


def _ends(digest: bytes) -> bool:
    return digest[24] % 4 == 0
