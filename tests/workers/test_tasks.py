"""A notified task claims jobs of its kinds."""

import time

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


@pytest.mark.parametrize(
    ("serving_s", "running_s", "ends"), [(5, 5, False), (100, 5, True), (None, 5, False)]
)
def test_leases_end_again_half_a_lease_after_the_start_of_the_hub(
    serving_s: float | None, running_s: float, *, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was killed and started again must not postpone the ends of leases."""
    now = time.monotonic()
    monkeypatch.setattr(tasks, "_STARTED_AT", now - running_s)
    monkeypatch.delenv(tasks.SERVING_SINCE, raising=False)
    if serving_s is not None:
        monkeypatch.setenv(tasks.SERVING_SINCE, str(now - serving_s))
    calls: list[dict[str, bool]] = []
    monkeypatch.setattr(tasks, "job_reap", lambda **options: calls.append(options))
    tasks.reap()
    assert calls == [{"ends_leases": ends}]
