"""What runs in a device's child processes."""

import gc
from collections.abc import Mapping
from typing import Any

import pytest

from hpcfair.measurement.placement import CallerPlacement
from workers.engine import child_work


def test_nothing_comes_between_warming_up_and_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    class Session:
        def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
            log.append("run")
            return {}

    def collecting(phase: str, _info: dict[str, int]) -> None:
        log.append(f"collection: {phase}")

    session: Any = Session()
    opened = child_work._Open(session, {}, CallerPlacement(session), lambda: session)
    monkeypatch.setattr(child_work, "_OPEN", [opened])
    gc.callbacks.append(collecting)
    try:
        timed = child_work.time(runs=3, warmup=2)
    finally:
        gc.callbacks.remove(collecting)

    assert log[-5:] == ["run"] * 5
    assert "collection: stop" in log
    assert len(timed["samples_ns"]) == 3
    assert gc.isenabled()
