"""Workers that end with their test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.workers import Start, workers_of


@pytest.fixture
def start(settings: Any, tmp_path: Path) -> Iterator[Start]:
    """Starts workers on the test's own database and a broker of its own."""
    sock = tmp_path / "valkey.sock"
    settings.REDIS_URL = f"redis+socket://{sock}"
    with workers_of(sock) as start:
        yield start
