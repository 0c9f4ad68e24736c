"""The process that sends a device's heartbeats: ``python -m workers.agent.heartbeat_main STATE``.

It is a process of its own with a raised priority where that is permitted, so that neither a job
that occupies all processors nor one that blocks the interpreter of the agent delays a heartbeat.
It reads lines of JSON from standard input, each with the jobs that are held, and writes one line of
JSON after each heartbeat. It ends when standard input does, so a killed agent falls silent.
Standard library and httpx only: it starts in a fraction of a second and needs little memory.
"""

import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from workers.agent.enrolment import Enrolment

STATUS_FILE = "heartbeat.json"
_PATH = "/api/v1/agent/heartbeat"
#: Priority where it may be raised (`setpriority(2)`): eight times the share of other processes.
_NICE = -10
#: Without a job there is no lease to renew, and claims are signs of life, too.
IDLE_FACTOR = 2.0
#: Seconds of one request, and of the first wait after a failure.
_TIMEOUT = httpx.Timeout(10.0, connect=5.0)
_RETRY_S = 1.0
_READ_BYTES = 2**16
#: Characters of an error. An answer must fit into the part of a pipe that is written whole.
_LONGEST_ERROR = 300


class HeartbeatProcess:
    """Sends heartbeats for the jobs that the agent holds, also while it holds none."""

    def __init__(self, state: Path, enrolment: Enrolment) -> None:
        self._state = state
        self._enrolment = enrolment
        self._jobs: list[dict[str, Any]] = []
        self._failures = 0
        self._due_at = time.monotonic()
        self._input = b""

    def run(self) -> None:
        """Send heartbeats until standard input ends."""
        headers = {"Authorization": f"Bearer {self._enrolment.token}"}
        with httpx.Client(timeout=_TIMEOUT, headers=headers) as http:
            while self._listen():
                if time.monotonic() >= self._due_at:
                    answer = self._beat(http)
                    self._due_at = time.monotonic() + self._wait_s()
                    self._tell(answer)

    def _listen(self) -> bool:
        """Wait for instructions of the agent until a heartbeat is due; false if it has ended."""
        seconds = max(0.0, self._due_at - time.monotonic())
        if not select.select([0], [], [], seconds)[0]:
            return True
        data = os.read(0, _READ_BYTES)
        *lines, self._input = (self._input + data).split(b"\n")
        if lines:
            self._jobs = json.loads(lines[-1])
            # Confirm at once that the answer to the claim has arrived.
            if self._jobs:
                self._due_at = time.monotonic()
        return bool(data)

    def _beat(self, http: httpx.Client) -> dict[str, Any]:
        """Send one heartbeat; returns the answer, or why there is none."""
        started_at = time.monotonic()
        body = {"jobs": self._jobs, "clock": datetime.now(UTC).isoformat()}
        try:
            response = http.post(f"{self._enrolment.hub}{_PATH}", json=body)
            if response.status_code == 200:
                answer = dict(response.json())
                self._failures = 0
                return {**answer, "sent_at": started_at, "error": ""}
            error = _problem_of(response)
        except (httpx.HTTPError, ValueError, TypeError) as failure:
            error = f"{type(failure).__name__}: {failure}"[:_LONGEST_ERROR]
        self._failures += 1
        return {"error": error}

    def _wait_s(self) -> float:
        """Seconds until the next heartbeat: with jitter, sooner after a failure, later without a
        job."""
        period = self._enrolment.heartbeat_s * (1.0 if self._jobs else IDLE_FACTOR)
        if self._failures:
            period = min(period, _RETRY_S * 2.0 ** min(self._failures - 1, 10))
        return period * random.uniform(0.8, 1.0)  # noqa: S311  not a secret

    def _tell(self, answer: dict[str, Any]) -> None:
        """Write the answer to the agent and, for ``hpcfair-agent status``, into the state
        folder."""
        line = json.dumps({"held": self._jobs, **answer}).encode()
        # An agent that is busy does not read, and the pipe fills up; older answers do not matter.
        with suppress(BlockingIOError):
            os.write(1, line + b"\n")
        status = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "jobs": [job["job"] for job in self._jobs],
            "state": answer.get("state", ""),
            "error": answer["error"],
        }
        # A full disk must not stop the heartbeats.
        with suppress(OSError):
            handle, temporary = tempfile.mkstemp(dir=self._state, prefix=".heartbeat-")
            with os.fdopen(handle, "w") as file:
                json.dump(status, file)
            Path(temporary).replace(self._state / STATUS_FILE)


def raise_priority() -> None:
    """Raise this process's priority as far as the system permits."""
    for nice in (_NICE, 0):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, nice)
            return


def _problem_of(response: httpx.Response) -> str:
    """The error code of a problem document, else the status."""
    try:
        return str(response.json()["code"])[:_LONGEST_ERROR]
    except (ValueError, KeyError, TypeError):
        return f"http_{response.status_code}"


def main() -> None:
    """Run until standard input ends. Signals are ignored, so that only the agent ends it."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    raise_priority()
    os.set_blocking(1, False)
    state = Path(sys.argv[1])
    HeartbeatProcess(state, Enrolment.read(state)).run()


if __name__ == "__main__":
    main()
