"""The secret key: from the environment, else made once and kept in the data folder."""

import os
import secrets
from pathlib import Path

from hub.settings import env


def secret_key(data_dir: Path) -> str:
    """``HPCFAIR_SECRET_KEY``, else the content of ``secret.key``, made readable to its owner only."""
    given = env.text("HPCFAIR_SECRET_KEY", "")
    if given:
        return given
    data_dir.mkdir(parents=True, exist_ok=True)
    path = data_dir / "secret.key"
    try:
        # O_EXCL: of several processes that start at once, one makes the key and the rest read it.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text()
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(50))
    return path.read_text()
