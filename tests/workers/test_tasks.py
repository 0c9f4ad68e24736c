"""A notified task claims jobs of its kinds."""

import pytest

from registry.dispatch import TASKS
from registry.states import JobKind
from workers import tasks
from workers.jobs import run


@pytest.mark.parametrize("kind", list(JobKind))
def test_the_task_of_each_kind_claims_it(kind: JobKind, monkeypatch: pytest.MonkeyPatch) -> None:
    claimed: list[JobKind] = []

    def claim(kinds: list[JobKind], **_: object) -> int:
        claimed.extend(kinds)
        return 0

    monkeypatch.setattr(run, "drain", claim)
    monkeypatch.setattr(run, "one", claim)
    monkeypatch.setattr(tasks, "update", lambda: None)
    tasks.app.tasks[TASKS[kind]]()
    assert kind in claimed
