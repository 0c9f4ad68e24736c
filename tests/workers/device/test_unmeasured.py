"""A search that measures no queries states why, in its result and in its log."""

from typing import Any, cast

import pytest

from tests.workers.tickets import make_ticket
from workers.device import queries
from workers.engine.errors import InfrastructureFailed
from workers.engine.queries.errors import NotMeasured

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
    return queries.publish_queries(
        cast("Any", hub), nothing, nothing, "", {}, nothing, nothing, SUMMARY
    )


@pytest.mark.parametrize(
    ("error", "reason", "budget_s", "other_s"),
    [
        # Three quarters of the time are for multi-stream.
        (NotMeasured("40 s do not suffice", 79.2), "40 s do not suffice", 80.0, 106.0),
        (NotMeasured("one sample at a time"), "one sample at a time", None, None),
        (InfrastructureFailed("it broke " * 100), ("it broke " * 100)[:400], 40.0, 40.0),
    ],
)
def test_the_reason_and_the_next_step_are_recorded(
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    reason: str,
    budget_s: float | None,
    other_s: float | None,
) -> None:
    def measure_queries(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(queries, "measure_queries", measure_queries)
    hub = Log()
    assert published(hub) == SUMMARY | {
        "offline_unmeasured": {"reason": reason, "budget_s": budget_s},
        "multi_stream_unmeasured": {"reason": reason, "budget_s": other_s},
    }
    for scenario, needed_s, note in zip(
        ("offline", "multi-stream"), (budget_s, other_s), hub.notes, strict=True
    ):
        assert f"{scenario}: {reason}" in note
        command = f"hpcfair tune --budget {needed_s:.0f}s" if needed_s else ""
        assert ("tune" in note) == bool(command)
        assert command in note


def test_a_brief_search_states_how_long_one_must_be() -> None:
    hub = Log(budget_s=12.0)
    result = published(hub)
    stated = result["offline_unmeasured"]
    assert stated == result["multi_stream_unmeasured"]
    assert stated["budget_s"] == queries.QUERIES_FROM_S
    assert "12 s" in stated["reason"]
    assert len(hub.notes) == 1


def test_a_repetition_states_nothing() -> None:
    hub = Log(budget_s=12.0, repeats="an id")
    assert published(hub) == SUMMARY
    assert not hub.notes
