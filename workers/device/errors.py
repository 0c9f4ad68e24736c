"""Failures of jobs, and refusals of the hub."""

from workers.engine.errors import CandidateFailed, ReferenceFailed
from workers.engine.types import Outcome

_CODES: dict[Outcome, str] = {
    "timeout": "job_timeout",
    "crash": "job_crashed",
    "invalid": "no_backend",
    "wrong-output": "no_backend",
    "infrastructure": "internal_error",
}


class HubError(Exception):
    """The hub refused a read, a write or a file. ``code`` is one of ``registry.errors.CODES``."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class JobFailure(Exception):
    """A job failed for a reason to be stored.

    Attributes:
        failure_class: A value of ``registry.states.FailureClass``.
        code: One of ``registry.errors.CODES``.
        detail: What happened and what to do, for the owner of the model.
    """

    def __init__(self, failure_class: str, code: str, detail: str) -> None:
        super().__init__(detail)
        self.failure_class = failure_class
        self.code = code
        self.detail = detail

    @classmethod
    def of(cls, error: "JobFailure | ReferenceFailed | CandidateFailed") -> "JobFailure":
        """A failure of the engine as a failure of the job."""
        if isinstance(error, JobFailure):
            return error
        detail = str(error)
        if isinstance(error, ReferenceFailed):
            detail = f"The reference or the baseline failed: {detail}"
        return cls(error.outcome, _CODES.get(error.outcome, "internal_error"), detail)
