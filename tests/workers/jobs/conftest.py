"""Real searches, shorter than anybody would ask for."""

from typing import Any

import pytest

from workers.engine.types import Budget
from workers.jobs import tune


@pytest.fixture
def short_searches(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little time to search and to measure what was found."""

    def short(**given: Any) -> Budget:
        little = {"seconds_per_measurement": 1.0, "headline_seconds": 3.0, "headline_processes": 3}
        return Budget(**given | little)

    settings.TUNE_BUDGET_S = 3
    monkeypatch.setattr(tune, "Budget", short)
