"""Real searches, shorter than anybody would ask for, of networks that were read quickly."""

from typing import Any

import pytest

from workers.device import tune
from workers.engine.requests import SearchBudget
from workers.inspection.external_paths import external_paths
from workers.inspection.inspect import inspect as read
from workers.jobs import inspect


@pytest.fixture
def short_searches(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little time to search and to measure what was found."""

    def short(**given: Any) -> SearchBudget:
        little = {
            "seconds_per_measurement": 0.3,
            "confirmation_seconds": 1.0,
            "confirmation_processes": 3,
        }
        return SearchBudget(**given | little)

    settings.TUNE_BUDGET_S = 3
    monkeypatch.setattr(tune, "SearchBudget", short)


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspection starts no processes and makes no test tensors.

    For tests of what comes after it; ``test_inspect.py`` and ``test_testtensor.py`` start them.
    """

    def call(function: str, *, folder: str, **_: Any) -> Any:
        return external_paths(folder) if "external" in function else read(folder)

    monkeypatch.setattr(inspect, "call", call)
    monkeypatch.setattr(inspect, "keep_tests", lambda *_: ())
