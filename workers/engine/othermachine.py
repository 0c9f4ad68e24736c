"""The machine that runs builds, if it is not the one that does the job."""

from dataclasses import dataclass

from hpcfair.isolation.process import Interpreter


@dataclass(frozen=True, slots=True)
class OtherMachine:
    """A machine that runs builds, one measurement at a time.

    Attributes:
        interpreter: Its Python. It sees the folders of jobs under the same paths.
        built_here: Backends that build on this machine; all others build on the other machine.
        slots: Number of child processes that build schedules on this machine at once.
    """

    interpreter: Interpreter
    built_here: frozenset[str] = frozenset()
    slots: int = 1
