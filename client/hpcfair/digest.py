"""SHA-256, the name of all bytes, and canonical JSON, the bytes of all documents."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CHUNK_BYTES = 2**20


def sha256_of_file(path: Path, advance: Callable[[int], None] | None = None) -> str:
    """Hex SHA-256 of a file's bytes; ``advance`` is told how many were read."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            if advance:
                advance(len(chunk))
    return digest.hexdigest()


def sha256_of_json(value: Any) -> str:
    """Hex SHA-256 of ``value`` as UTF-8 JSON with sorted keys and no spaces.

    Raises:
        ValueError: it holds NaN or infinity, which JSON has not.
    """
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()
