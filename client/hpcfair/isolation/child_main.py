"""Entry point of a child process: ``python -P -m hpcfair.isolation.child_main``.

Standard input carries one line of JSON (a policy and the parent's process id) and then messages of
:mod:`hpcfair.isolation.wire`; answers leave through a private copy of standard output. NumPy, and
therefore :mod:`~hpcfair.isolation.wire`, starts threads and is imported only after the process is
confined.
"""

import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from hpcfair.isolation.limits import Limits
from hpcfair.isolation.sandbox import Policy, confine

_PR_SET_PDEATHSIG = 1
#: Above all descriptors that this process has at its start.
_MAX_DESCRIPTOR = 1024
#: Seconds between two looks of a guardian.
_GUARD_EVERY_S = 0.2


def main() -> None:
    """Confine this process, report the isolation level, then serve calls until end of input."""
    requests, answers = _take_pipes()
    hello = json.loads(_read_line(requests))
    _die_with(hello["parent_pid"])
    if hello["programs"]:
        _start_guardian()
    level = confine(
        Policy(
            limits=Limits(**hello["limits"]),
            workspace=Path(hello["workspace"]),
            readable=tuple(map(Path, hello["readable"])),
            programs=hello["programs"],
            gpu=hello["gpu"],
            layers=tuple(hello["layers"]),
        )
    )
    # After confine(), because importing NumPy starts threads that would not be confined.
    from hpcfair.isolation.child_serve import serve  # noqa: PLC0415

    serve(requests, answers, {"isolation": level})


def _take_pipes() -> tuple[int, int]:
    """Private descriptors of the pipes to the parent.

    Native libraries print to descriptor 1 and some read 0: output goes to the error log and input
    is empty, so that only the protocol reaches the parent.
    """
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return requests, answers


def _read_line(descriptor: int) -> bytes:
    """One line, read byte by byte: the following bytes are messages."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        if not byte:
            sys.exit("the parent closed the pipe before its greeting")
        line += byte
    return line


def _die_with(parent_pid: int) -> None:
    """Let the kernel kill this process when its parent dies."""
    if sys.platform == "linux":
        libc: Any = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_pid:
        sys.exit("the parent died before its child was ready")


def _start_guardian() -> None:
    """Start a process that kills this process group when this process has died.

    The kernel ends a child with its parent, but not the programs that the child has started: a
    compiler would go on. The sandbox lets none of them signal the guardian or leave the group.
    """
    child_pid = os.getpid()
    if os.fork():
        return
    # It holds no pipe, so that the parent sees the end of the child's.
    os.closerange(0, _MAX_DESCRIPTOR)
    # Landlock forbids a confined process to signal others, even by its death (PR_SET_PDEATHSIG).
    while os.getppid() == child_pid:
        time.sleep(_GUARD_EVERY_S)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
