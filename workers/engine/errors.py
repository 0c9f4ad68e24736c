"""A failed candidate is a result; these are for a broken rig, or for a stop from outside."""

from workers.engine.types import Outcome


class EngineError(Exception):
    """Base of the engine's errors."""


class BackendUnavailable(EngineError):
    """A backend's package or device is missing; the message says how to get it."""


class InvalidCandidate(EngineError):
    """A backend cannot build or run this candidate; raised inside the child process."""


class CandidateFailed(EngineError):
    """A child process working on a candidate ended badly.

    Attributes:
        outcome: The failure class.
        cause: What ended it, finer than the class: ``memory``, ``wall-clock``, ``cpu-time``,
            ``file-size``, ``disk``, ``signal``, ``exit``, ``protocol``, ``unavailable``,
            ``exception``, ``start``; empty where nobody knows.
    """

    def __init__(self, outcome: Outcome, detail: str, cause: str = "") -> None:
        super().__init__(detail)
        self.outcome: Outcome = outcome
        self.cause = cause


class ReferenceFailed(EngineError):
    """The unoptimised float32 reference itself does not run: nothing can be checked.

    Attributes:
        outcome: The failure class.
    """

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome: Outcome = outcome


class BaselineFailed(EngineError):
    """The baseline's process ended badly during a comparison: not the candidate's fault.

    Attributes:
        outcome: The failure class.
    """

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome: Outcome = outcome


class WrongOutput(EngineError):
    """Outputs differ from the reference in kind: a name, a shape, a NaN or an infinity."""


class InfrastructureFailed(EngineError):
    """Candidates fail one after another by the machine's fault: the search should move."""


class LeaseLost(EngineError):
    """Somebody else does this work now."""


class Cancelled(EngineError):
    """The work is no longer wanted."""
