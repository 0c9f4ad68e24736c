"""Process supervisor of ``manage.py serve``: starts services in order, restarts and stops them.

One thread, one loop. Children run in their own process groups, so that Ctrl-C reaches only the
supervisor. The kernel kills them with their parent: a SIGKILL of it leaves no orphans.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, NoReturn

_PR_SET_PDEATHSIG = 1
_BACKOFF_S = (0.5, 1.0, 2.0, 5.0, 10.0)
# The backoff restarts after a child that ran at least this long.
_HEALTHY_S = 30.0

_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Service:
    """A process to keep running.

    Attributes:
        name: Prefix of each line of its output.
        ready: Polled after the start; the next service starts when it returns true.
        ready_timeout_s: Time after which a service that is not ready aborts the start.
        stop_signal: Sent first to stop it; SIGKILL follows after ``grace_s``.
        environment: Variables added to those of this process.
    """

    name: str
    command: tuple[str, ...]
    ready: Callable[[], bool] | None = None
    ready_timeout_s: float = 60.0
    stop_signal: signal.Signals = signal.SIGTERM
    grace_s: float = 8.0
    environment: Mapping[str, str] = field(default_factory=dict)


class StartFailed(Exception):
    """A service did not become ready in time."""


@dataclass
class _Child:
    service: Service
    process: "subprocess.Popen[bytes]"
    started_at: float
    deaths: int = 0
    restart_at: float | None = None
    buffer: bytes = b""


class Supervisor:
    """Runs services until SIGINT or SIGTERM: starts them in order, stops them in reverse order.

    ``say(name, line)`` prints one line of output.
    """

    def __init__(self, services: list[Service], say: Callable[[str, str], None]) -> None:
        self._services = services
        self._say = say
        self._children: dict[str, _Child] = {}
        self._selector = selectors.DefaultSelector()
        self._ending = False
        self._stopping = False

    def run(self, on_ready: Callable[[], None] | None = None) -> None:
        """Start all services, call ``on_ready``, restart those that exit until a signal comes.

        Raises ``StartFailed`` if a service is not ready in time; all others have been stopped.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._end)
        try:
            for service in self._services:
                if self._ending:
                    return
                self._start(service)
                self._await_ready(service)
            if on_ready and not self._ending:
                on_ready()
            while not self._ending:
                self._turn(timeout_s=0.2)
        finally:
            self._stop_all()

    def _end(self, *_: object) -> None:
        self._ending = True

    def _start(self, service: Service, deaths: int = 0) -> None:
        process = subprocess.Popen(
            service.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **service.environment},
            process_group=0,
            # Safe although it runs Python between fork and exec: this process has one thread.
            preexec_fn=_die_with_parent,  # noqa: PLW1509
        )
        child = _Child(service, process, time.monotonic(), deaths)
        self._children[service.name] = child
        os.set_blocking(_output(child).fileno(), False)
        self._selector.register(_output(child), selectors.EVENT_READ, service.name)

    def _await_ready(self, service: Service) -> None:
        if service.ready is None:
            return
        deadline = time.monotonic() + service.ready_timeout_s
        while not self._ending and not service.ready():
            if time.monotonic() > deadline:
                raise StartFailed(
                    f"{service.name} was not ready within {service.ready_timeout_s:.0f} s; "
                    "see its output above"
                )
            self._turn(timeout_s=0.1)

    def _turn(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(timeout_s):
            self._drain(self._children[key.data])
        for child in list(self._children.values()):
            self._revive(child)

    def _revive(self, child: _Child) -> None:
        now = time.monotonic()
        if child.restart_at is not None:
            if now >= child.restart_at:
                self._start(child.service, child.deaths)
            return
        code = child.process.poll()
        if code is None:
            return
        self._retire(child)
        # Remaining processes of its group would conflict with its successor.
        _kill_group(child, signal.SIGKILL)
        child.deaths = 1 if now - child.started_at > _HEALTHY_S else child.deaths + 1
        wait_s = _BACKOFF_S[min(child.deaths, len(_BACKOFF_S)) - 1]
        child.restart_at = now + wait_s
        self._say(child.service.name, f"ended ({_describe(code)}); starting again in {wait_s:g} s")

    def _drain(self, child: _Child) -> None:
        try:
            data = _output(child).read()
        except BlockingIOError:
            return
        if not data:
            return
        *lines, child.buffer = (child.buffer + data).split(b"\n")
        if self._stopping:
            # Messages about the requested shutdown would look like errors.
            return
        for line in lines:
            self._say(child.service.name, line.decode(errors="replace").rstrip())

    def _retire(self, child: _Child) -> None:
        self._drain(child)
        if child.buffer and not self._stopping:
            self._say(child.service.name, child.buffer.decode(errors="replace"))
            child.buffer = b""
        self._selector.unregister(_output(child))
        _output(child).close()

    def _stop_all(self) -> None:
        self._stopping = True
        for service in reversed(self._services):
            child = self._children.get(service.name)
            if child is None or child.restart_at is not None:
                continue
            _kill_group(child, service.stop_signal, leader_only=True)
            deadline = time.monotonic() + service.grace_s
            while child.process.poll() is None and time.monotonic() < deadline:
                self._selector.select(0.1)
                self._drain(child)
            _kill_group(child, signal.SIGKILL)
            child.process.wait()
            self._retire(child)
            self._say(service.name, "stopped")


def _output(child: _Child) -> IO[bytes]:
    assert child.process.stdout is not None  # noqa: S101 - it was opened as a pipe
    return child.process.stdout


def _kill_group(child: _Child, number: signal.Signals, *, leader_only: bool = False) -> None:
    try:
        if leader_only:
            child.process.send_signal(number)
        else:
            os.killpg(child.process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _describe(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def _die_with_parent() -> None:
    if _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        _fail("prctl(PR_SET_PDEATHSIG) was refused")
    # The parent may have died before the call above.
    if os.getppid() == 1:
        _fail("the supervisor has exited")


def _fail(reason: str) -> NoReturn:
    sys.stderr.write(f"{reason}\n")
    os._exit(70)
