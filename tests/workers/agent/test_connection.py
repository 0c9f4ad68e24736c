"""Times of results are the hub's, even if the clock of the device changes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.workers.agent.scriptedhub import ScriptedHub
from workers.agent import connection as module
from workers.agent.connection import HubConnection

HUB_TIME = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


class Clock1970(datetime):
    """The clock of a machine that has none while it is off."""

    @classmethod
    def now(cls, tz: Any = None) -> "Clock1970":
        return cls(1970, 1, 1, tzinfo=tz)


def test_a_clock_that_is_set_during_a_job_changes_nothing(
    hub: ScriptedHub, connection: HubConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.answer = lambda _: (200, {"clock": HUB_TIME.isoformat()})
    monkeypatch.setattr(module, "datetime", Clock1970)
    connection.post("hello", {})
    monkeypatch.setattr(module, "datetime", datetime)
    assert HUB_TIME <= connection.now() < HUB_TIME + timedelta(hours=1)
    first = connection.now()
    assert first <= connection.now()
