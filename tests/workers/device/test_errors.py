"""What a job's owner reads when the engine gives up."""

from workers.device.errors import JobFailure
from workers.engine.errors import CandidateFailed, ReferenceFailed


def test_a_network_that_does_not_run_is_told_from_a_build_that_does_not() -> None:
    late = JobFailure.of(ReferenceFailed("timeout", "no answer within 300 s"))
    assert (late.failure_class, late.code) == ("timeout", "job_timeout")
    assert "The reference or the baseline failed: no answer within 300 s" in late.detail
    assert JobFailure.of(CandidateFailed("crash", "it died")).detail == "it died"
    assert JobFailure.of(late) is late
