"""A live hub and what a person of another client tells it: address, token, an empty cache."""

from pathlib import Path
from typing import Any

import pytest

from registry.tables import User
from tests.factories import make_token


@pytest.fixture
def as_alice(
    live_server: Any, settings: Any, data_dir: Path, tmp_path: Path, alice: User
) -> dict[str, str]:
    """The environment variables of alice, whose client has never been used before."""
    settings.HUB_URL = live_server.url
    return {
        "HF_ENDPOINT": live_server.url,
        "HF_TOKEN": make_token(alice),
        "HF_HOME": str(tmp_path / "hf"),
        "HOME": str(tmp_path),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
