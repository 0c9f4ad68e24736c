"""The real client of the Hugging Face Hub, pointed at a live hub by nothing but its address."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi, close_session
from huggingface_hub.utils._xet import XetSessionHolder

from registry.states import Scope
from registry.tables import User
from tests.factories import make_token
from tests.hub.hf.xet_uploads import ClientOf, XetClient

ApiOf = Callable[..., HfApi]


@pytest.fixture
def hub_url(live_server: Any, settings: Any, data_dir: Path) -> Iterator[str]:
    """The address of a live hub that knows its own address and has an empty data folder."""
    settings.HUB_URL = live_server.url
    yield str(live_server.url)
    # As long as the client keeps its connection, the hub's thread keeps one to the database,
    # which PostgreSQL then does not let go.
    close_session()


@pytest.fixture
def api_of(hub_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ApiOf:
    """Makes the client of a person, or of nobody."""
    # Whatever of these the person running the tests has set is read when the client is imported
    # or called; nothing of theirs may take part.
    for name in ("HF_TOKEN", "HF_ENDPOINT", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hf-cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "hf-token"))
    monkeypatch.setenv("HF_XET_CACHE", str(tmp_path / "hf-xet"))
    monkeypatch.setattr("huggingface_hub.utils._xet._GLOBAL_XET_HOLDER", XetSessionHolder())

    def make(user: User | None = None, scope: Scope = Scope.WRITE) -> HfApi:
        return HfApi(endpoint=hub_url, token=make_token(user, scope) if user else False)

    return make


@pytest.fixture
def xet_client_of(hub_url: str, tmp_path: Path) -> ClientOf:
    """Makes a bare Xet client of a person, whose cache is empty unless ``home`` is a used one."""

    def make(user: User, home: str = "home", scope: Scope = Scope.WRITE) -> XetClient:
        return XetClient(hub_url, tmp_path / home, make_token(user, scope))

    return make
