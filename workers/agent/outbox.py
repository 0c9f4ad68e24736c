"""Sends the requests of a device in order, and repeats those that fail."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from hpcfair import errors
from hpcfair.retry import Retry
from workers.agent.connection import HubConnection
from workers.agent.heartbeat import HeldJob
from workers.agent.journal import Journal, UnsentWrite
from workers.agent.stop import Stop
from workers.device.errors import HubError
from workers.engine.errors import LeaseLost

logger = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

#: Waits between attempts: exponential, with full jitter, so that a fleet does not return at once.
RETRY: Final = Retry(base_s=1.0, cap_s=60.0)
#: Server errors in a row after which a request is given up.
_MOST_FAULTS = 5
_LOST_CODES = ("lease_lost", "job_not_found", "already_ended")


class Outbox:
    """The requests of one claimed job. Used by one thread.

    Writes are stored in the journal before they are sent. While the hub does not answer, writes
    whose answer nobody needs wait in the journal and the work goes on; everything else is repeated
    until the hub answers or the job is lost.

    Attributes:
        connection: The connection to the hub.
        check: Called before each attempt; raises LeaseLost or Cancelled to give up.
    """

    def __init__(
        self,
        connection: HubConnection,
        journal: Journal,
        stop: Stop,
        held: HeldJob,
        check: Callable[[], None],
    ) -> None:
        self.connection = connection
        self._journal = journal
        self._stop = stop
        self._held = held
        self.check = check
        self._failures = 0
        self._next_at = 0.0

    @property
    def is_away(self) -> bool:
        """Whether the last request got no answer and the next attempt is not due yet."""
        return time.monotonic() < self._next_at

    def read(self, name: str, parameters: Mapping[str, Any]) -> Any:
        """A value from the hub. Unsent writes are sent first, because it may depend on them.

        Raises:
            LeaseLost, Cancelled: see ``check``.
            HubError: the hub refused.
        """
        self.flush()
        return self.repeat(lambda: self._post(f"read/{name}", {"parameters": parameters}))["value"]

    def write(self, name: str, columns: dict[str, Any], *, needs_answer: bool) -> Any:
        """Store something at the hub; raises as :meth:`read`.

        Args:
            needs_answer: Whether to wait for the hub's answer; otherwise the result is ``None``.
        """
        self._journal.add(name, columns)
        if needs_answer:
            return self.flush()
        self._attempt(self._send_all)
        return None

    def hint(self, name: str, columns: Mapping[str, Any]) -> None:
        """Send a write without effect on results once, if the hub is reachable. Raises
        LeaseLost."""
        self._attempt(lambda: self._post(f"write/{name}", {"columns": columns}))

    def tell_candidate(self, config_sha256: str) -> None:
        """Tell the hub which candidate is being tried. Raises as :meth:`read`."""
        columns = {"config_sha256": config_sha256}
        self.repeat(lambda: self._post("write/candidate_begin", {"columns": columns}))

    def flush(self) -> Any:
        """Send all unsent writes; returns the answer to the last one. Raises as :meth:`read`."""
        return self.repeat(self._send_all)

    def end(self, report: Mapping[str, Any]) -> Mapping[str, Any]:
        """Report the end of the claim; returns the hub's answer. Raises as :meth:`read`."""
        return self.repeat(lambda: self._post("end", report))

    def repeat(self, request: Callable[[], _Answer]) -> _Answer:
        """The answer to a request that is repeated until the hub gives one. Raises as
        :meth:`read`."""
        while True:
            self.check()
            try:
                answer = request()
            except (errors.HubUnreachable, errors.Unavailable) as error:
                self._postpone(error)
                self._stop.wait(self._next_at - time.monotonic())
            except errors.HubError as error:
                raise _refused(error) from error
            else:
                self._failures = 0
                return answer

    def _attempt(self, request: Callable[[], object]) -> None:
        """Send a request once, unless the hub is away."""
        if self.is_away:
            return
        try:
            request()
        except (errors.HubUnreachable, errors.Unavailable) as error:
            self._postpone(error)
        except errors.HubError as error:
            raise _refused(error) from error
        else:
            self._failures = 0

    def _postpone(self, error: errors.HubError | errors.HubUnreachable) -> None:
        """Choose the time of the next attempt. Raises HubError if more attempts are useless."""
        self._failures += 1
        is_last = self._failures >= _MOST_FAULTS
        if is_last and isinstance(error, errors.HubError) and error.status == 500:
            raise HubError(_code_of(error), str(error)) from error
        wait_s = RETRY.wait_s(self._failures)
        self._next_at = time.monotonic() + wait_s
        level = logging.WARNING if self._failures == 1 else logging.INFO
        logger.log(level, "%s Next attempt in %.0f s.", error, wait_s)

    def _send_all(self) -> Any:
        answer = None
        for write in self._journal.unsent():
            answer = self._send(write)
        return answer

    def _send(self, write: UnsentWrite) -> Any:
        body = {"number": write.number, "columns": write.columns}
        try:
            answer = self._post(f"write/{write.name}", body)
        except (errors.HubUnreachable, errors.Unavailable):
            raise
        except errors.HubError:
            # A refusal is final: repeating the write would block those that follow.
            self._journal.confirm(write.number)
            raise
        self._journal.confirm(write.number)
        return answer["value"]

    def _post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        fenced = {"fence": self._held.fence, **body}
        return self.connection.post(f"jobs/{self._held.job}/{path}", fenced)


def _refused(error: errors.HubError) -> LeaseLost | HubError:
    """The hub's refusal as an exception of the port."""
    if error.code in _LOST_CODES:
        return LeaseLost(str(error))
    if isinstance(error, errors.Unauthenticated | errors.Forbidden):
        return LeaseLost(f"the hub no longer accepts this device: {error}")
    return HubError(_code_of(error), str(error))


def _code_of(error: errors.HubError) -> str:
    """The hub's error code; other than any of the hub's if a proxy in front of it answered."""
    return "internal_error" if error.code.startswith("http_") else error.code
