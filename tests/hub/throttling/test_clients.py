"""What honest clients notice of the limits: nothing, or a wait that they are told of."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi, close_session
from huggingface_hub.utils import _http

from hub.settings import limits
from registry.states import Scope
from registry.tables import User
from tests.factories import make_mlmodel, make_token
from tests.hub.throttling.buckets import forget_local

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def api(live_server: Any, settings: Any, data_dir: Path, alice: User) -> Any:
    settings.HUB_URL = live_server.url
    yield HfApi(endpoint=live_server.url, token=make_token(alice, Scope.WRITE))
    close_session()


def test_the_stock_client_waits_as_long_as_it_is_told(
    live_server: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LIMIT_SEARCHES = 2
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        # As if the time had passed.
        forget_local()

    monkeypatch.setattr(_http.time, "sleep", sleep)
    for _ in range(3):
        answer = _http.http_backoff(
            "GET", f"{live_server.url}/api/models", retry_on_status_codes=(429,)
        )
        assert answer.status_code == 200
    close_session()
    # 2 in 300 s: one more after 150 s. The client adds a second.
    assert len(waits) == 1
    assert 140 <= waits[0] <= 151


def test_the_stock_client_says_how_many_are_allowed(
    live_server: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_http.time, "sleep", lambda _: None)
    settings.LIMIT_SEARCHES = 1
    anonymous = HfApi(endpoint=live_server.url, token=False)
    list(anonymous.list_models())
    with pytest.raises(_http.HfHubHTTPError) as caught:
        list(anonymous.list_models())
    close_session()
    assert "you have reached your 'search' rate limit" in str(caught.value)
    assert "0/1 requests remaining in current 300s window" in str(caught.value)


def test_a_snapshot_of_many_files_is_not_limited(
    api: HfApi, alice: User, tmp_path: Path, settings: Any
) -> None:
    """Small quotas stand for many files: what a snapshot asks does not grow with them."""
    settings.LIMIT_SEARCHES = settings.LIMIT_SEARCHES_ACCOUNT = 5
    settings.LIMIT_WRITES = settings.LIMIT_WRITES_ACCOUNT = 5
    files = {f"part-{number:04}.txt": f"{number}\n" for number in range(100)}
    make_mlmodel("alice/many", actor=alice, files=files)
    anonymous = HfApi(endpoint=api.endpoint, token=False)
    folder = anonymous.snapshot_download("alice/many", cache_dir=tmp_path, max_workers=32)
    assert len(list(Path(folder).glob("part-*"))) == 100


def test_a_cluster_behind_one_address_is_not_limited(
    live_server: Any, alice: User, galaxy: Any, settings: Any
) -> None:
    """200 nodes with one person's token: each resolves, lists, and reads its files, at once.

    A fifth of them stands for all, with a fifth of all quotas.
    """
    for name in filter(re.compile("LIMIT_.*").fullmatch, dir(limits)):
        setattr(settings, name, getattr(settings, name) // 5)
    headers = {"Authorization": f"Bearer {make_token(alice)}"}
    addresses = [
        "/api/models/lab/galaxy-cnn/revision/main",
        "/lab/galaxy-cnn/resolve/main/model.onnx",
        "/api/v1/models?q=galaxy",
        "/lab/galaxy-cnn.git/info/refs?service=git-upload-pack",
        "/lab/galaxy-cnn/metadata/jsonld",
    ]

    def node(_: int) -> set[int]:
        session = _http.get_session()
        answers = [session.get(f"{live_server.url}{one}", headers=headers) for one in addresses]
        return {answer.status_code for answer in answers}

    began = time.monotonic()
    with ThreadPoolExecutor(8) as nodes:
        statuses = set().union(*nodes.map(node, range(40)))
    close_session()
    assert statuses == {200}, time.monotonic() - began
