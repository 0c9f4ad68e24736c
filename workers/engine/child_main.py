"""What runs in a child process: ``python -P -m workers.engine.child_main``, started by ``Child``.

Standard input brings one line of JSON (a policy and the worker's process id) and then messages of
:mod:`workers.engine.wire`; answers leave through a private copy of standard output. NumPy, and
with it :mod:`~workers.engine.wire`, starts threads, so it is imported only once this process is
confined.
"""

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from workers.engine.sandbox import Policy, confine
from workers.engine.types import Limits

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Confine this process, say so, then serve calls until the worker hangs up."""
    requests, answers = _take_pipes()
    hello = json.loads(_read_line(requests))
    _die_with(hello["worker_pid"])
    level = confine(
        Policy(
            limits=Limits(**hello["limits"]),
            workspace=Path(hello["workspace"]),
            readable=tuple(map(Path, hello["readable"])),
            programs=hello["programs"],
            gpu=hello["gpu"],
        )
    )
    # After confine(), because importing NumPy starts threads that would stay free.
    from workers.engine.child_serve import serve  # noqa: PLC0415

    serve(requests, answers, {"isolation": level})


def _take_pipes() -> tuple[int, int]:
    """Private descriptors of the pipes to the worker.

    Native libraries print to descriptor 1 and some read 0: what they print goes to the error log,
    what they read is empty, and nothing but the protocol ever reaches the worker.
    """
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return requests, answers


def _read_line(descriptor: int) -> bytes:
    """One line, byte by byte: what follows it belongs to the messages."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        if not byte:
            sys.exit("the worker hung up before it said hello")
        line += byte
    return line


def _die_with(worker_pid: int) -> None:
    """Have the kernel kill this process when its worker dies, however it dies."""
    if sys.platform == "linux":
        libc: Any = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != worker_pid:
        sys.exit("the worker died before its child was ready")


if __name__ == "__main__":
    main()
