"""Processes that end with their parent: ``python -m benchmarks.lifetime PARENT COMMAND ...``."""

import ctypes
import os
import signal
import sys
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def end_with_parent(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Let the kernel send this process a signal when its parent ends for any reason.

    Args:
        parent: Process id of the parent. If it has ended already, this process ends at once.

    Raises:
        OSError: the kernel refuses.
    """
    if _LIBC.prctl(_PR_SET_PDEATHSIG, number) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) was refused")
    if os.getppid() != parent:
        os._exit(1)


def ending_with_us(*command: str) -> list[str]:
    """A command that gets SIGTERM when this process ends; ``command[0]`` is a path."""
    return [sys.executable, "-m", "benchmarks.lifetime", str(os.getpid()), *command]


def exit_on_sigterm() -> None:
    """Let SIGTERM raise an exception in this process, so that its context managers exit."""

    def end(*_: object) -> NoReturn:
        sys.exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]), signal.SIGTERM)
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606
