"""A search without a throughput states why, in its result and in its log."""

from typing import Any, cast

import pytest

from tests.workers.tickets import make_ticket
from workers.device import throughput
from workers.engine.errors import InfrastructureFailed
from workers.engine.offline.errors import NotMeasured

SUMMARY = {"summary": "exact 1.2x"}


class Log:
    """A hub that keeps notes."""

    def __init__(self, **parameters: Any) -> None:
        self.ticket = make_ticket(parameters=parameters, settings={"tune_budget_s": 40.0})
        self.notes: list[str] = []
        self.progress = None

    def write(self, operation: str, *, message: str) -> None:
        assert operation == "note"
        assert len(message) <= 500
        self.notes.append(message)


def published(hub: Log) -> dict[str, Any]:
    nothing = cast("Any", None)
    return throughput.publish_throughput(
        cast("Any", hub), nothing, nothing, "", {}, nothing, nothing, SUMMARY
    )


@pytest.mark.parametrize(
    ("error", "reason", "budget_s"),
    [
        (NotMeasured("40 s do not suffice", 79.2), "40 s do not suffice", 80.0),
        (NotMeasured("one sample at a time"), "one sample at a time", None),
        (InfrastructureFailed("it broke " * 100), ("it broke " * 100)[:400], 40.0),
    ],
)
def test_the_reason_and_the_next_step_are_recorded(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str, budget_s: float | None
) -> None:
    def measure_offline(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(throughput, "measure_offline", measure_offline)
    hub = Log()
    stated = {"reason": reason, "budget_s": budget_s}
    assert published(hub) == SUMMARY | {"offline_unmeasured": stated}
    (note,) = hub.notes
    assert reason in note
    assert (f"hpcfair tune --budget {budget_s:.0f}s" in note) if budget_s else "tune" not in note


def test_a_brief_search_states_how_long_one_must_be() -> None:
    hub = Log(budget_s=12.0)
    stated = published(hub)["offline_unmeasured"]
    assert stated["budget_s"] == throughput.THROUGHPUT_FROM_S
    assert "12 s" in stated["reason"]
    assert len(hub.notes) == 1


def test_a_repetition_states_nothing() -> None:
    hub = Log(budget_s=12.0, repeats="an id")
    assert published(hub) == SUMMARY
    assert not hub.notes
