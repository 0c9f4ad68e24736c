"""Requests of a device to its hub: ``/api/v1/agent/``. All connections are outbound."""

import platform
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

import httpx

from hpcfair.config import Config
from hpcfair.retry import Retry
from hpcfair.transport import Body, Transport
from workers.agent.enrolment import Enrolment

_ROOT = "/api/v1/agent"


class Refused(Exception):
    """The hub no longer accepts this device; the message says why. Repeating is useless."""


def agent_version() -> str:
    """Version of this agent and of Python."""
    try:
        ours = version("hpcfair-agent")
    except PackageNotFoundError:  # run from a source tree that is not installed
        ours = "0"
    return f"{ours} python/{platform.python_version()}"


def clock() -> str:
    """This machine's time in ISO 8601, for the hub to compare with its own."""
    return datetime.now(UTC).isoformat()


class HubConnection:
    """Requests to one hub. Each is sent once; :mod:`workers.agent.outbox` repeats those that fail.

    Every method that sends raises ``hpcfair.errors.HubError`` if the hub refuses, and
    ``HubUnreachable`` if it does not answer. A context manager.

    Attributes:
        http: The transport, for files.
    """

    def __init__(self, hub: str, token: str = "") -> None:
        self.http = Transport(Config(url=hub, token=token or None), retry=Retry(attempts=1))
        self._clock = (datetime.now(UTC), _elapsed_s())

    @classmethod
    def of(cls, enrolment: Enrolment) -> Self:
        """A connection with the token of an enrolled device."""
        return cls(enrolment.hub, enrolment.token)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a JSON object; the empty object if there is none."""
        answer: Mapping[str, Any] = self.http.post(f"{_ROOT}/{path}", dict(body)) or {}
        if "clock" in answer:
            self._clock = (datetime.fromisoformat(str(answer["clock"])), _elapsed_s())
        return answer

    def put(self, path: str, content: Body, headers: Mapping[str, str]) -> httpx.Response:
        """The answer to a PUT of raw bytes; its body has been read."""
        with self.http.open("PUT", path, content=content, headers=headers) as answer:
            answer.read()
            return answer

    def now(self) -> datetime:
        """The hub's time, in UTC. The clock of this machine may be wrong by years, and may be set
        during a job, so the time since the hub's last answer is measured by a monotonic clock."""
        at, elapsed_s = self._clock
        return at + timedelta(seconds=_elapsed_s() - elapsed_s)


def _elapsed_s() -> float:
    """Seconds since the machine was started, sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def blob_path(job: str, sha256: str) -> str:
    """The path of a file of a job at its hub."""
    return f"{_ROOT}/jobs/{job}/blobs/{sha256}"
