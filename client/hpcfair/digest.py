"""SHA-256 digests of files and of canonical JSON."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CHUNK_BYTES = 2**20


def sha256_of_file(path: Path, advance: Callable[[int], None] | None = None) -> str:
    """Hex SHA-256 of a file's bytes; ``advance`` is called with the number of bytes read."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            if advance:
                advance(len(chunk))
    return digest.hexdigest()


def sha256_of_json(value: Any) -> str:
    """Hex SHA-256 of key-sorted compact UTF-8 JSON. Raises ValueError for NaN and infinity."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()
