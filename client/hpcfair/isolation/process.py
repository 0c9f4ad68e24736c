"""Starts a child process, ends it, and interprets its exit status."""

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcfair.isolation.child_serve import lacks_memory
from hpcfair.isolation.errors import ChildFailed, FailureClass
from hpcfair.isolation.limits import Limits
from hpcfair.typingnames import Self

#: The only environment variables that a child inherits: others may hold secrets. ``QEMU_CPU`` names
#: the processor that a user-mode emulator offers.
_INHERITED = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "QEMU_CPU")
_CHILD = "hpcfair.isolation.child_main"
#: Arguments that run the child's module. DANGER: its folder, where untrusted files lie, must not be
#: among the folders that it imports from.
_RUN_CHILD = (
    ("-P", "-m", _CHILD)
    if sys.version_info >= (3, 11)
    else ("-c", f"import sys; del sys.path[0]; import runpy; runpy._run_module_as_main({_CHILD!r})")
)
#: A process group of its own, so that a child ends with all that it started; before Python 3.11 a
#: session is the only way to make one.
_OWN_GROUP: dict[str, Any] = (
    {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that runs a child.

    Attributes:
        command: Its program, after any command that enters a container. That command must become
            the interpreter (``exec``) instead of starting another process, and must see the
            child's folders under the same paths.
        path: Folders from which it imports, besides its own.
    """

    command: tuple[str, ...]
    path: tuple[Path, ...]

    @classmethod
    def here(cls) -> Self:
        """This process's interpreter, with its import paths."""
        return cls((sys.executable,), tuple(Path(entry).absolute() for entry in sys.path))


def start(workspace: Path, interpreter: Interpreter) -> subprocess.Popen[bytes]:
    """Start a child in ``workspace``, with non-blocking pipes; raises OSError if that is
    impossible."""
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    environment |= {
        "HOME": str(workspace),
        "TMPDIR": str(workspace / "tmp"),
        "PYTHONPATH": os.pathsep.join(map(str, interpreter.path)),
        # Repeated builds must give the same bytes.
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        # NumPy only fills and compares arrays; its own thread pool would disturb timed runs.
        "OPENBLAS_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        [*interpreter.command, "-X", "faulthandler", *_RUN_CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=workspace,
        env=environment,
        **_OWN_GROUP,
    )
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None  # noqa: S101  all are pipes
        os.set_blocking(pipe.fileno(), False)
    return process


def peak_bytes_here() -> int:
    """Peak memory of this process: a lower bound on that of a child started now, because Linux also
    counts the time before ``exec`` (``setmax_mm_hiwater_rss``)."""
    return _bytes(resource.getrusage(resource.RUSAGE_SELF))


def kill(process: subprocess.Popen[bytes], grace_s: float = 0.0) -> tuple[int, int]:
    """Kill the process and its group; returns its exit status and its peak memory in bytes.

    ``grace_s`` lets a dying process end by itself, so that its exit status gives the cause. It is
    reaped only after its group is killed, because its number could be reused.
    """
    deadline = time.monotonic() + grace_s
    while time.monotonic() < deadline and not _is_dead(process.pid):
        time.sleep(0.005)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # Without a filter it may have joined another group.
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    _, status, used = os.wait4(process.pid, 0)
    # Otherwise Popen would wait for a process that is already reaped.
    process.returncode = os.waitstatus_to_exitcode(status)
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None  # noqa: S101
        pipe.close()
    return process.returncode, _bytes(used)


def _bytes(used: resource.struct_rusage) -> int:
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _is_dead(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def failure_of(status: int, peak_bytes: int, printed: str, limits: Limits) -> ChildFailed:
    """The failure of a child that ended by itself, from exit status, memory and last output."""
    name = signal.Signals(-status).name if status < 0 else ""
    outcome: FailureClass = "crash"
    match -status:
        case _ if lacks_memory(printed):
            detail, cause = "ran out of memory", "memory"
        case _ if status >= 0:
            detail, cause = f"ended itself with status {status}", "exit"
        case signal.SIGXCPU:
            outcome, detail, cause = "timeout", "used up its processor time", "cpu-time"
        case signal.SIGKILL if peak_bytes > limits.memory_bytes / 2:
            detail, cause = "killed by the system for its memory", "memory"
        case signal.SIGKILL:
            # Its own limit would have raised an error inside it: other processes used the memory.
            detail = "killed by another process, most likely because the machine ran out of memory"
            outcome, cause = "infrastructure", "memory"
        case signal.SIGTERM | signal.SIGINT | signal.SIGHUP:
            detail = f"stopped from outside by {name}"
            outcome, cause = "infrastructure", "signal"
        case _:
            detail, cause = f"crashed with {name}", "signal"
    return ChildFailed(outcome, detail, cause)


def cpu_seconds(pid: int) -> float:
    """Processor time a process has used (``proc(5)``: utime and stime, fields 14 and 15)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
