"""The engine's errors. A failed candidate is a result; these end a search, a session or a check."""

from typing import ClassVar

from hpcfair.isolation.errors import ChildFailed, FailureClass, Refusal
from workers.engine.types import Outcome


class EngineError(Exception):
    """Base of the engine's errors."""


class BackendUnavailable(EngineError, Refusal):
    """A backend's package or device is missing; the message says how to install it."""

    failure: ClassVar[tuple[FailureClass, str]] = ("infrastructure", "unavailable")


class InvalidCandidate(EngineError, Refusal):
    """A backend cannot build or run this candidate. Raised inside the child process."""


class CandidateFailed(EngineError, ChildFailed):
    """A child process that worked on a candidate ended badly; ``outcome`` is the failure class."""

    outcome: Outcome


class ReferenceFailed(EngineError):
    """The unoptimised float32 reference or the baseline does not run: nothing can be compared.
    ``outcome`` is the failure class."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome: Outcome = outcome


class BaselineFailed(EngineError):
    """The baseline's process ended badly during a comparison: not the candidate's fault.
    ``outcome`` is the failure class."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome: Outcome = outcome


class WrongOutput(EngineError):
    """Outputs cannot be compared with the reference's, or are beyond the limits."""


class InfrastructureFailed(EngineError):
    """Trials fail by the machine's fault: the job should run on another machine."""


class LeaseLost(EngineError):
    """Another worker has taken over the job."""


class Cancelled(EngineError):
    """The job was cancelled."""
