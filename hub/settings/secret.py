"""The secret key of a hub without a configured one: generated once, in the data folder."""

import os
import secrets
import tempfile
from pathlib import Path


def secret_key(data_dir: Path) -> str:
    """The content of ``secret.key``, which only its owner can read; it is generated if missing."""
    data_dir.mkdir(parents=True, exist_ok=True)
    path = data_dir / "secret.key"
    if not path.exists():
        _create(path)
    return path.read_text()


def _create(path: Path) -> None:
    """Write a new key atomically; of several processes that start at once, one wins."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".secret-")
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(50))
    try:
        # Unlike rename, link does not replace a key that other processes may have read.
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        Path(temporary).unlink()
