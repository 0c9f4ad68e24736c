"""What tests of the web ask for."""

import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub import broker


@pytest.fixture
def embedded_broker(settings: Any) -> Iterator[None]:
    """The broker ``serve`` starts; its path is short, as a socket's must be."""
    with tempfile.TemporaryDirectory(prefix="hf") as folder:
        path = Path(folder) / "v.sock"
        settings.REDIS_URL = f"redis+socket://{path}"
        server = subprocess.Popen(broker.command(path))
        try:
            deadline = time.monotonic() + 60
            while not broker.answers(path) and time.monotonic() < deadline:
                time.sleep(0.02)
            yield
        finally:
            server.kill()
            server.wait()
