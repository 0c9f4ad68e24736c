"""Why a job ended without a result."""

from workers.engine.errors import CandidateFailed, ReferenceFailed
from workers.engine.types import Outcome

_CODES: dict[Outcome, str] = {
    "timeout": "job_timeout",
    "crash": "job_crashed",
    "invalid": "no_backend",
    "wrong-output": "no_backend",
    "infrastructure": "internal_error",
}


class JobFailed(Exception):
    """A job failed for a reason worth telling.

    Attributes:
        failure_class: A value of ``registry.states.FailureClass``.
        code: One of ``registry.errors.CODES``.
        detail: What happened and what to do, for the model's owner.
    """

    def __init__(self, failure_class: str, code: str, detail: str) -> None:
        super().__init__(detail)
        self.failure_class = failure_class
        self.code = code
        self.detail = detail

    @classmethod
    def of(cls, error: "JobFailed | ReferenceFailed | CandidateFailed") -> "JobFailed":
        """An engine's failure as a job's."""
        if isinstance(error, JobFailed):
            return error
        detail = str(error)
        if isinstance(error, ReferenceFailed):
            detail = f"Nothing can be measured against the network as published: {detail}"
        return cls(error.outcome, _CODES.get(error.outcome, "internal_error"), detail)
