"""Token buckets: in the broker, and in a process while the broker is away."""

import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.throttling import bucket
from hub.throttling.bucket import MOST_LOCAL, BucketState, take
from tests.hub.throttling.buckets import forget_local


@pytest.fixture(params=["broker", "process"])
def either(request: pytest.FixtureRequest, settings: Any) -> str:
    """The same promises hold for both."""
    if request.param == "broker":
        request.getfixturevalue("embedded_broker")
    else:
        settings.REDIS_URL = "redis+socket:///nowhere/at/all.sock"
    forget_local()
    return str(request.param)


def test_a_quota_may_be_used_at_once_and_comes_back_evenly(either: str) -> None:
    levels = [take("one", quota=5, window_s=5) for _ in range(7)]
    assert [level.allowed for level in levels] == [True] * 5 + [False] * 2
    assert [level.remaining for level in levels[:5]] == [4, 3, 2, 1, 0]
    assert 0 < levels[-1].reset_s <= 1.0
    assert take("two", quota=5, window_s=5).allowed, "others have their own"
    time.sleep(levels[-1].reset_s + 0.01)
    assert take("one", quota=5, window_s=5).allowed
    assert not take("one", quota=5, window_s=5).allowed


def test_refused_requests_do_not_prolong_the_wait(either: str) -> None:
    for _ in range(3):
        take("one", quota=3, window_s=3)
    first = take("one", quota=3, window_s=3).reset_s
    for _ in range(50):
        last = take("one", quota=3, window_s=3).reset_s
    assert last <= first


def test_parallel_requests_share_a_quota_exactly(either: str) -> None:
    levels: list[BucketState] = []

    def ask() -> None:
        levels.extend(take("one", quota=60, window_s=3600) for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(level.allowed for level in levels) == 60


@pytest.mark.usefixtures("embedded_broker")
def test_the_count_is_in_the_broker_and_not_in_the_process() -> None:
    assert take("one", quota=1, window_s=3600).allowed
    forget_local()
    assert not take("one", quota=1, window_s=3600).allowed


def test_a_broker_that_is_away_is_not_asked_again_at_once(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = "redis+socket:///nowhere/at/all.sock"
    forget_local()
    urls: list[str] = []
    original = bucket._script
    monkeypatch.setattr(bucket, "_script", lambda url: urls.append(url) or original(url))
    for _ in range(10):
        take("one", quota=100, window_s=10)
    assert len(urls) == 1


def test_a_process_forgets_the_least_used_of_very_many(settings: Any) -> None:
    settings.REDIS_URL = "redis+socket:///nowhere/at/all.sock"
    forget_local()
    for number in range(MOST_LOCAL + 10):
        take(f"net-{number}", quota=1, window_s=3600)
    assert len(bucket._local._full_at) == MOST_LOCAL
    assert take("net-0", quota=1, window_s=3600).allowed
    assert not take(f"net-{MOST_LOCAL}", quota=1, window_s=3600).allowed


@given(
    quota=st.integers(1, 50),
    window_s=st.integers(1, 3600),
    pauses=st.lists(st.floats(0, 600), min_size=1, max_size=60),
)
def test_no_window_ever_allows_more_than_twice_the_quota(
    quota: int, window_s: int, pauses: list[float]
) -> None:
    """A burst at the end of one window and the refill of the next: never more."""
    local, now = bucket._Local(), 0.0
    times: list[float] = []
    for pause in pauses:
        now += pause
        times += [now for _ in range(3) if local.take("one", quota, window_s, now).allowed]
    for start in times:
        assert sum(start <= time_s < start + window_s for time_s in times) <= 2 * quota
