"""SIGKILL in the middle of submitting, claiming, publishing and reaping: nothing lost or twice."""

from pathlib import Path

import pytest

from tests.factories import database_url
from tests.registry import shopfloor
from tests.registry.work.queue_killing import kill_queue

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

KILLS = 48


def test_a_killed_process_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    for number in range(24):
        shopfloor.floor(f"owner{number % 3}/net{number}")
    outcome = kill_queue(
        log=tmp_path / "log",
        environment={
            "DATABASE_URL": database_url(),
            "DJANGO_SETTINGS_MODULE": "hub.settings.testing",
            # Notifications are lost: the queue does not need them.
            "REDIS_URL": "redis://127.0.0.1:9/0",
        },
        kills=KILLS,
    )
    assert (outcome.lost, outcome.twice) == ([], [])
    assert sum(outcome.kills.values()) == KILLS
    # The kills came in time to interrupt something.
    assert outcome.submitted
    assert outcome.succeeded
    assert outcome.interrupted
