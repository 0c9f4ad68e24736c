"""Jobs of the hub: progress, waiting, cancelling."""

import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, overload

from hpcfair.errors import CODES, BadInput, JobFailed, TimedOut
from hpcfair.mlmodel import address
from hpcfair.progress import Meter, working
from hpcfair.transport import Transport, pages, quoted
from hpcfair.types import Trial

#: After this time in the queue, a warning says that no worker may be running.
_UNHEARD_S = 30.0
_ENDED = frozenset({"succeeded", "failed", "cancelled"})
#: Polling intervals: short while there is progress, long otherwise.
_FIRST_LOOK_S, _LAST_LOOK_S, _SLOWER = 0.3, 5.0, 1.5
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|seconds?|min|minutes?|m|h|hours?)?")
_SECONDS = {"m": 60.0, "h": 3600.0}


class WaitingWarning(UserWarning):
    """No worker has claimed the job yet."""


class Job:
    """A job on one revision. Attributes are those of the last refresh.

    Attributes:
        uuid, kind, model, revision, target: Identity and subject of the job.
        state: ``queued``, ``leased``, ``succeeded``, ``failed`` or ``cancelled``.
        parameters: As submitted. ``repeats`` names the search whose inconclusive measurements the
            hub repeats by this job.
        progress: ``phase``, ``done``, ``total`` and ``message``, for display.
        result: The result of a succeeded job.
        failure: ``class``, ``code`` and ``detail`` of a failed job.
    """

    def __init__(
        self,
        http: Transport,
        data: Mapping[str, Any],
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = http
        self._sleep = sleep
        self._take(data)

    def _take(self, data: Mapping[str, Any]) -> None:
        self.uuid = str(data["uuid"])
        self.kind = str(data["kind"])
        self.model = str(data["model"])
        self.revision = str(data.get("revision") or "")
        self.target: str | None = data.get("target")
        self.state = str(data["state"])
        self.parameters: dict[str, Any] = dict(data.get("parameters") or {})
        self.device: str | None = data.get("device")
        self.progress: dict[str, Any] = dict(data.get("progress") or {})
        self.result: dict[str, Any] = dict(data.get("result") or {})
        self.failure: dict[str, Any] | None = data.get("failure")
        self.queue_position: int | None = data.get("queue_position")
        # A sentence; an older hub gives none.
        self.wait_reason: str | None = data.get("wait_reason")
        self.created_at = str(data.get("created_at") or "")
        self.started_at: str | None = data.get("started_at")
        self.ended_at: str | None = data.get("ended_at")

    @property
    def address(self) -> str:
        return f"/api/v1/jobs/{quoted(self.uuid)}"

    @property
    def ended(self) -> bool:
        return self.state in _ENDED

    @property
    def trials(self) -> list[Trial]:
        """All trials so far, in order."""
        items = pages(self._http, f"{self.address}/trials")
        return sorted((Trial.from_json(item) for item in items), key=lambda trial: trial.number)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The job's log: ``at`` and ``message`` of each line."""
        return list(pages(self._http, f"{self.address}/events"))

    def refresh(self) -> "Job":
        """Request the current state."""
        self._take(self._http.get(self.address))
        return self

    def cancel(self) -> "Job":
        """Cancel the job. A worker stops within seconds, even during a trial."""
        self._take(self._http.post(f"{self.address}/cancel", {}))
        return self

    def wait(self, timeout_s: float | None = None) -> "Job":
        """Wait until the job ends, with a progress bar on a terminal.

        Raises:
            TimedOut: ``timeout_s`` has passed; the job continues.
            HubError: the job failed; class and code are those of the failure.
            JobFailed: the job was cancelled, or failed with an unknown code.
        """
        with working(self.title) as meter:
            self._watch(meter, timeout_s)
        if self.state != "succeeded":
            self._raise()
        return self

    @property
    def title(self) -> str:
        """A short title of the job."""
        return f"{self.kind} {self.model}{f' for {self.target}' if self.target else ''}"

    def _watch(self, meter: Meter, timeout_s: float | None) -> None:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        pause_s, unheard_s = _FIRST_LOOK_S, 0.0
        while not self.ended:
            meter.show(self.progress.get("done") or 0, self.progress.get("total"), self._status())
            if deadline is not None and time.monotonic() + pause_s > deadline:
                raise TimedOut(
                    f"{self.title} has not ended within {timeout_s:g} s: {self!r}.",
                    f"It goes on: `hpcfair jobs show {self.uuid}` says how far it is.",
                )
            self._sleep(pause_s)
            unheard_s = self._count_waiting(unheard_s, pause_s)
            before = (self.state, self.progress)
            self.refresh()
            moved = before != (self.state, self.progress)
            pause_s = _FIRST_LOOK_S if moved else min(_LAST_LOOK_S, pause_s * _SLOWER)

    def _count_waiting(self, unheard_s: float, pause_s: float) -> float:
        """Count the seconds without a worker, and warn once."""
        if self.state != "queued":
            return 0.0
        if unheard_s < _UNHEARD_S <= unheard_s + pause_s:
            warnings.warn(
                f"{self.title} has waited {_UNHEARD_S:.0f} s for a worker of the hub. It goes on "
                f"without you: interrupt, and look again with `hpcfair jobs show {self.uuid}`.",
                WaitingWarning,
                stacklevel=4,
            )
        return unheard_s + pause_s

    def _status(self) -> str:
        if self.state == "queued":
            place = f", place {self.queue_position}" if self.queue_position else ""
            place += f": {self.wait_reason}" if self.wait_reason else ""
            return f"{self.title}: waiting for a worker{place}"
        texts = [self.progress.get("phase"), self.progress.get("message")]
        return ": ".join([self.title, *(str(word) for word in texts if word)])

    def _raise(self) -> NoReturn:
        if self.state == "cancelled":
            raise JobFailed(f"The job {self.title} was cancelled.", code="job_cancelled")
        failure = self.failure or {}
        code = str(failure.get("code") or "job_failed")
        raise CODES.get(code, JobFailed)(
            f"The job {self.title} failed: {failure.get('detail') or 'no reason was given'}",
            f"`hpcfair jobs show {self.uuid}` shows its log.",
            code=code,
        )

    def __repr__(self) -> str:
        return f"<Job {self.uuid} {self.title}: {self.state}>"


class Jobs(Sequence[Job]):
    """Jobs that were requested together, one per target."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = tuple(jobs)

    def __len__(self) -> int:
        return len(self._jobs)

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Job]: ...
    def __getitem__(self, index: int | slice) -> Job | Sequence[Job]:
        return self._jobs[index]

    @property
    def trials(self) -> list[Trial]:
        """Trials of all jobs."""
        return [trial for job in self for trial in job.trials]

    def wait(self, timeout_s: float | None = None) -> "Jobs":
        """Wait for all; raises as :meth:`Job.wait` for the first unsuccessful one."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        for job in self:
            job.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return self

    def cancel(self) -> "Jobs":
        """Cancel all jobs that have not ended."""
        for job in self:
            if not job.ended:
                job.cancel()
        return self

    def __repr__(self) -> str:
        return f"<Jobs {', '.join(map(repr, self))}>"


def job(http: Transport, uuid: str) -> Job:
    """The job of that id."""
    return Job(http, http.get(f"/api/v1/jobs/{quoted(uuid)}"))


def jobs(
    http: Transport,
    *,
    state: str | None = None,
    kind: str | None = None,
    model: str | None = None,
    target: str | None = None,
) -> Iterator[Job]:
    """Jobs visible to this account, newest first."""
    parameters = {"state": state, "kind": kind, "model": model, "target": target}
    return (Job(http, item) for item in pages(http, "/api/v1/jobs", parameters))


def tune(
    http: Transport,
    name: str,
    *,
    targets: Sequence[str] | None = None,
    budget: str | float | None = None,
    revision: str | None = None,
    strategy: str | None = None,
) -> Jobs:
    """Request searches for faster builds; see :meth:`hpcfair.Client.tune`."""
    parameters = {
        "targets": list(targets) if targets is not None else None,
        "budget_s": seconds(budget) if budget is not None else None,
        "revision": revision,
        "strategy": strategy,
    }
    body = {key: value for key, value in parameters.items() if value is not None}
    answer = http.post(f"{address(name)}/tune", body)
    return Jobs([Job(http, item) for item in answer["items"]])


def seconds(duration: str | float) -> float:
    """``"10min"``, ``"90s"``, ``"1.5h"`` or a number of seconds, as seconds. Raises BadInput if it
    has another form, or is not positive."""
    match = _DURATION.fullmatch(str(duration).strip().lower())
    value = float(match[1]) * _SECONDS.get((match[2] or "s")[0], 1.0) if match else 0.0
    if value <= 0:
        raise BadInput(f"{duration!r} is not a duration.", "Write 90, '90s', '10min' or '1h'.")
    return value
