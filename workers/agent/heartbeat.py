"""Controls the heartbeat process: tells it the held job, and reads the hub's answers."""

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from workers.engine.errors import Cancelled, LeaseLost

logger = logging.getLogger(__name__)

#: Lease times without an answer after which the work ends. If the hub is restarted within this
#: time, the device still works on the job, and the hub decides which device holds it.
_PATIENCE = 4
_READ_BYTES = 2**16
#: Seconds after which a process that does not end is killed.
_END_S = 2.0


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job that this device holds: its UUID, its fence and the seconds of its lease."""

    job: str
    fence: int
    lease_s: float


class Heartbeat:
    """Runs the heartbeat process, and starts it again if it dies. Used by one thread; a context
    manager."""

    def __init__(self, state: Path) -> None:
        """
        Args:
            state: The state folder.
        """
        self._folder = state
        self._held: HeldJob | None = None
        self._is_lost = False
        self._is_cancelled = False
        self._answered_at = time.monotonic()
        self._output = b""
        self._process: subprocess.Popen[bytes]
        self._instructions: IO[bytes]
        self._answers: IO[bytes]

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):
            self._instructions.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()

    def hold(self, job: HeldJob) -> None:
        """Renew the lease of a job from now on."""
        # Earlier answers are about other jobs.
        self.listen()
        self._held, self._is_lost, self._is_cancelled = job, False, False
        self._answered_at = time.monotonic()
        self._instruct()

    def release(self) -> None:
        """Renew no lease from now on."""
        self._held = None
        self._instruct()

    def check(self) -> None:
        """Read the hub's answers.

        Raises:
            LeaseLost: another worker may have the job, or the hub has not answered for long.
            Cancelled: the job was cancelled.
        """
        self.listen()
        if self._held is None:
            return
        name = f"job {self._held.job}"
        if self._is_lost:
            raise LeaseLost(f"the lease of {name} was lost")
        if self._is_cancelled:
            raise Cancelled(f"{name} was cancelled")
        silent_s = time.monotonic() - self._answered_at
        if silent_s > _PATIENCE * self._held.lease_s:
            raise LeaseLost(f"the hub has not answered for {silent_s:.0f} s; {name} is given up")

    def listen(self) -> None:
        """Read the answers that have arrived. Starts the process again if it has ended."""
        while True:
            try:
                data = os.read(self._answers.fileno(), _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                break
            *lines, self._output = (self._output + data).split(b"\n")
            for line in lines:
                self._receive(json.loads(line))
        logger.warning("the heartbeat process ended with status %s", self._process.wait())
        self.__exit__()
        self._start()
        self._instruct()

    def _receive(self, answer: Mapping[str, Any]) -> None:
        """Apply one answer. An answer about a job that is no longer held only shows that the hub is
        there."""
        if answer["error"]:
            self._is_lost |= _is_refusal(answer["error"])
            return
        self._answered_at = max(self._answered_at, float(answer["sent_at"]))
        held = self._held
        for job in answer.get("jobs", ()):
            if held and (job["job"], job["fence"]) == (held.job, held.fence):
                self._is_lost |= bool(job["lost"])
                self._is_cancelled |= bool(job["cancel"])

    def _start(self) -> None:
        # -P: no module of the current folder takes the place of an installed one.
        command = [sys.executable, "-P", "-m", "workers.agent.heartbeat_main", str(self._folder)]
        path = os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))
        self._output = b""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert self._process.stdin  # noqa: S101  a pipe
        assert self._process.stdout  # noqa: S101  a pipe
        self._instructions, self._answers = self._process.stdin, self._process.stdout
        os.set_blocking(self._answers.fileno(), False)

    def _instruct(self) -> None:
        held = self._held
        jobs = [{"job": held.job, "fence": held.fence}] if held else []
        # A process that has just died is started again by the next check.
        with suppress(BrokenPipeError):
            self._instructions.write(json.dumps(jobs).encode() + b"\n")


def _is_refusal(code: str) -> bool:
    """Whether the hub does not accept this device at all, rather than not now."""
    return code.startswith("device_") or code in {"token_invalid", "not_authenticated"}
