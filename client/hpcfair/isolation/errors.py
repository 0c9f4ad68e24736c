"""Failures of child processes."""

from typing import ClassVar, Literal

#: Why a call in a child process gave no result.
FailureClass = Literal["infrastructure", "invalid", "timeout", "crash", "wrong-output"]


class ChildFailed(Exception):
    """A child process, or a call in it, ended badly.

    Attributes:
        outcome: The failure class.
        cause: Finer than the class: ``memory``, ``wall-clock``, ``cpu-time``, ``file-size``,
            ``disk``, ``files``, ``processes``, ``signal``, ``exit``, ``protocol``,
            ``unavailable``, ``exception``, ``start``; empty if unknown.
    """

    def __init__(self, outcome: str, detail: str, cause: str = "") -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.cause = cause


class Refusal(Exception):
    """An exception that functions raise inside a child process: its parent receives the message
    without the name of the class.

    Attributes:
        failure: The failure class and the cause that the parent receives.
    """

    failure: ClassVar[tuple[FailureClass, str]] = ("invalid", "exception")
