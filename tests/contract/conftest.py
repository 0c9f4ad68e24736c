"""People with the real client, and a worker that does what waits."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcfair.client import Client
from hpcfair.config import Config
from registry.states import Scope
from registry.tables import User
from tests.factories import make_token
from tests.inspector import inspector

__all__ = ["inspector"]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bars, and nothing of whoever runs the tests."""
    monkeypatch.setenv("HPCFAIR_QUIET", "1")
    for name in ("URL", "TOKEN", "OFFLINE", "CACHE", "SITE_CACHE", "CONFIG"):
        monkeypatch.delenv(f"HPCFAIR_{name}", raising=False)


@pytest.fixture
def client_of(live_server: Any, data_dir: Path, tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Makes the client of a person, or of nobody, with a cache of its own."""
    made: list[Client] = []

    def make(user: User | None = None, scope: Scope = Scope.WRITE) -> Client:
        token = make_token(user, scope) if user else None
        config = Config(
            live_server.url,
            token,
            tmp_path / f"cache-{len(made)}",
            keys=tmp_path / f"keys-{len(made)}.json",
        )
        made.append(Client(config=config))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def as_alice(client_of: Callable[..., Client], alice: User) -> Client:
    return client_of(alice)
