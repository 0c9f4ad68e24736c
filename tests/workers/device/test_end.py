"""The exception of a job's work decides how the job ends."""

from typing import Any

import pytest

from tests.workers.tickets import make_ticket
from workers.device.end import end_of
from workers.device.errors import HubError, JobFailure
from workers.engine.errors import (
    Cancelled,
    CandidateFailed,
    InfrastructureFailed,
    LeaseLost,
    ReferenceFailed,
)


def raising(error: BaseException) -> Any:
    def work() -> Any:
        raise error

    return work


def test_a_result_is_a_success() -> None:
    end = end_of(make_ticket(), lambda: {"summary": "done"})
    assert (end.outcome, end.result, end.failure) == ("succeeded", {"summary": "done"}, None)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(LeaseLost("gone"), "lost"), (Cancelled("by its owner"), "released")],
    ids=["lost", "cancelled"],
)
def test_a_job_that_ended_elsewhere_has_no_failure(error: Exception, outcome: str) -> None:
    end = end_of(make_ticket(), raising(error))
    assert (end.outcome, end.result, end.failure) == (outcome, {}, None)


@pytest.mark.parametrize(
    ("error", "failure_class", "code"),
    [
        (JobFailure("invalid", "no_backend", "x"), "invalid", "no_backend"),
        (ReferenceFailed("crash", "x"), "crash", "job_crashed"),
        (CandidateFailed("timeout", "x"), "timeout", "job_timeout"),
        (InfrastructureFailed("x"), "infrastructure", "internal_error"),
        (HubError("storage_full", "x"), "invalid", "storage_full"),
        (ZeroDivisionError("x"), "infrastructure", "internal_error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_failures_have_a_class_a_code_and_a_reason(
    error: Exception, failure_class: str, code: str
) -> None:
    end = end_of(make_ticket(), raising(error))
    assert end.outcome == "failed"
    assert end.failure is not None
    assert (end.failure.failure_class, end.failure.code) == (failure_class, code)
    assert "x" in end.failure.detail


def test_an_interrupt_is_not_a_failure_of_the_job() -> None:
    with pytest.raises(KeyboardInterrupt):
        end_of(make_ticket(), raising(KeyboardInterrupt()))
