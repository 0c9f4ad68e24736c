"""Benchmarks under test do not wait for a quiet machine: other tests keep it busy."""

import pytest

from benchmarks import calm


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wait is longer than nothing: two tests that wait disturb each other for a quarter hour."""
    monkeypatch.setattr(calm, "PATIENCE_S", 0.0)
