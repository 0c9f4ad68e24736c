"""A child process that works on untrusted files without endangering its parent.

::

    parent                                  child (own process group, confined, no network)
      IsolatedChild ── hello: limits, folders ──▶ confine() ── level reached ──▶
      call("module:function", x=1) ──────────▶ function(x=1) ─── result ────▶
      ... on timeout: SIGKILL to the group    dies with its parent (PR_SET_PDEATHSIG)

Every call ends with a result, or with ``ChildFailed`` and a failure class.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, get_args

from hpcfair.isolation import wire
from hpcfair.isolation.errors import ChildFailed, FailureClass
from hpcfair.isolation.limits import Limits
from hpcfair.isolation.process import (
    Interpreter,
    cpu_seconds,
    failure_of,
    kill,
    peak_bytes_here,
    start,
)
from hpcfair.isolation.pump import Pump
from hpcfair.isolation.sandbox import LAYERS, LEVELS
from hpcfair.isolation.watch import UsageWatch
from hpcfair.typingnames import Self

_START_S = 120.0
#: Processor time beyond the wall-clock limit, which therefore ends a call first, with the better
#: message. The processor-time limit takes effect only if the parent itself hangs.
_CPU_MARGIN_S = 60
_FAILURES = frozenset(get_args(FailureClass))


class IsolatedChild:
    """A child process, for one call or a session of many. Use as a context manager.

    The thread that creates it must outlive it: the kernel ends a child when the thread that started
    it ends. Used by one thread.

    Args:
        limits: ``wall_s`` bounds each call; the other limits bound the whole process, with the
            programs that it starts.
        workspace: Existing folder, the only one that the child can write to.
        readable: Paths that it may read besides Python and the system's libraries.
        programs: Whether it may start programs, such as a linker.
        gpu: Whether it may use the machine's GPUs.
        layers: The layers of the sandbox to use if the kernel has them. Tests leave layers out to
            show what an older kernel leaves unprotected.
        interpreter: The Python that runs it; by default this process's.

    Attributes:
        isolation: The isolation level, one of :data:`hpcfair.isolation.sandbox.LEVELS`.

    Raises ChildFailed (``infrastructure``) if the child does not start.
    """

    #: The class of the raised failures; subclasses may name their own.
    failure: ClassVar[type[ChildFailed]] = ChildFailed

    def __init__(
        self,
        limits: Limits,
        workspace: Path,
        readable: Sequence[Path] = (),
        *,
        programs: bool = False,
        gpu: bool = False,
        layers: Sequence[str] = LAYERS,
        interpreter: Interpreter | None = None,
    ) -> None:
        self._limits = limits
        self._tail = bytearray()
        self._workspace = workspace.resolve(strict=True)
        self._readable = [path.resolve() for path in readable]
        (self._workspace / "tmp").mkdir(exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: UsageWatch | None = None
        self._inherited_bytes = peak_bytes_here()
        hello = {
            "parent_pid": os.getpid(),
            "limits": asdict(limits),
            "workspace": str(self._workspace),
            "readable": list(map(str, self._readable)),
            "programs": programs,
            "gpu": gpu,
            "layers": list(layers),
        }
        try:
            self._process = start(self._workspace, interpreter or Interpreter.here())
            self._watch = UsageWatch(self._process.pid, limits, self._workspace, programs=programs)
            greeting = self._exchange([json.dumps(hello).encode() + b"\n"], _START_S)
        except (OSError, ChildFailed) as failure:
            raise self.failure(
                "infrastructure", f"a child process did not start: {failure}", "start"
            ) from failure
        if greeting.get("isolation") not in LEVELS:
            raise self._ended(ChildFailed("infrastructure", "an unknown greeting", "start"))
        self.isolation: str = greeting["isolation"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, function: str, /, **arguments: Any) -> Any:
        """Call ``"package.module:function"`` in the child.

        Arguments are any values that :func:`hpcfair.isolation.wire.encode` accepts. Dataclasses,
        tuples and paths arrive as dictionaries, lists and strings; the returned result is
        converted likewise. Raises ChildFailed if the function raised (the child remains usable)
        or the child is dead.
        """
        if self._process is None:
            raise self.failure("infrastructure", "the child process has been closed", "exit")
        self._tail.clear()
        self._allow_cpu(self._process.pid)
        message = wire.encode({"function": function, "arguments": arguments})
        answer = self._exchange(message, self._limits.wall_s)
        if "failure" in answer:
            raise self._failure(answer["failure"])
        if "result" not in answer:
            raise self._ended(ChildFailed("crash", "its answer is invalid", "protocol"))
        return answer["result"]

    def close(self) -> None:
        """Kill the child and its process group. Repeated calls have no effect."""
        process, self._process = self._process, None
        self._stop_watch()
        if process is not None:
            kill(process)

    def _stop_watch(self) -> ChildFailed | None:
        """End the watch, before the child is reaped; the failure if the watch has killed it."""
        watch, self._watch = self._watch, None
        return watch.stop() if watch else None

    def _exchange(self, message: Sequence[bytes | memoryview], seconds: float) -> dict[str, Any]:
        assert self._process is not None  # noqa: S101  checked by the callers
        try:
            with Pump(self._process, self._tail) as pump:
                answer = pump.exchange(message, time.monotonic() + seconds)
        except TimeoutError:
            detail = f"no answer within {seconds:g} s"
            raise self._ended(ChildFailed("timeout", detail, "wall-clock")) from None
        except wire.BadMessage as error:
            raise self._ended(
                ChildFailed("crash", f"its answer is invalid: {error}", "protocol")
            ) from error
        except EOFError:
            raise self._ended(None) from None
        except BaseException:
            # Interrupted within a message: the next one could not be parsed.
            self.close()
            raise
        if not isinstance(answer, dict):
            raise self._ended(ChildFailed("crash", "its answer is invalid", "protocol"))
        return answer

    def _ended(self, failure: ChildFailed | None) -> ChildFailed:
        """The failure to raise for a child that is dead or must be, with its last output."""
        process, self._process = self._process, None
        assert process is not None  # noqa: S101
        failure = self._stop_watch() or failure
        status, peak_bytes = kill(process, grace_s=0.0 if failure else 5.0)
        if peak_bytes <= self._inherited_bytes:
            # This is the parent's memory when it started the child, not the child's own.
            peak_bytes = 0
        printed = self._tail.decode(errors="replace").strip()
        failure = failure or failure_of(status, peak_bytes, printed, self._limits)
        detail = self._presentable(f"{failure}\n{printed}".strip())
        return self.failure(failure.outcome, detail, failure.cause)

    def _failure(self, described: Any) -> ChildFailed:
        """The failure that a living child reports. Only known failure classes are accepted."""
        if not isinstance(described, dict) or described.get("outcome") not in _FAILURES:
            return self.failure("crash", "reported an unknown failure", "protocol")
        detail = self._presentable(str(described.get("detail")))
        return self.failure(described["outcome"], detail, str(described.get("cause")))

    def _presentable(self, text: str) -> str:
        """A child's output in a form that can be stored and shown. Paths of this machine are
        private and differ between runs; databases reject NUL and lone surrogates."""
        for path in (self._workspace, *self._readable):
            text = text.replace(str(path), f"<{path.name}>")
        return text.encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")

    def _allow_cpu(self, pid: int) -> None:
        """Raise the child's processor-time limit for one more call."""
        if sys.platform != "linux":
            return
        with suppress(OSError):
            used_s = cpu_seconds(pid)
            cores = len(os.sched_getaffinity(0))
            limit_s = int(used_s + (self._limits.wall_s + _CPU_MARGIN_S) * cores)
            resource.prlimit(pid, resource.RLIMIT_CPU, (limit_s, resource.RLIM_INFINITY))
