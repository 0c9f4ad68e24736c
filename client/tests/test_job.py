"""Jobs: watched with patience, failed with the hub's own code."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from hpcfair.client import Client
from hpcfair.errors import BadInput, InvalidModelFile, JobFailed
from hpcfair.job import Job, WaitingWarning, seconds
from hpcfair.transport import Transport

JOB: dict[str, Any] = {"uuid": "j1", "kind": "tune", "model": "lab/tiny", "target": "x86-64-avx2"}
TUNE = "/api/v1/models/lab/tiny/tune"


def states(*wanted: dict[str, Any]) -> Callable[[httpx.Request], Any]:
    """Answers one state after the other."""
    left = list(wanted)
    return lambda _: {**JOB, **left.pop(0)}


def test_waiting_ends_with_the_job(hub: Any, http: Transport) -> None:
    hub.on("GET", "/api/v1/jobs/j1", states({"state": "leased"}, {"state": "succeeded"}))

    job = Job(http, {**JOB, "state": "queued", "queue_position": 2}, sleep=lambda _: None)

    assert job.wait().state == "succeeded"


def test_a_job_that_stands_still_is_looked_at_less_and_less(hub: Any, http: Transport) -> None:
    still = [{"state": "leased"}] * 20
    hub.on("GET", "/api/v1/jobs/j1", states(*still, {"state": "succeeded"}))
    pauses: list[float] = []

    Job(http, {**JOB, "state": "leased"}, sleep=pauses.append).wait()

    assert pauses == sorted(pauses)
    assert pauses[0] < 0.5
    assert pauses[-1] == 5.0


def test_a_job_that_moves_is_looked_at_often(hub: Any, http: Transport) -> None:
    moving = [{"state": "leased", "progress": {"phase": "try", "done": n}} for n in range(20)]
    hub.on("GET", "/api/v1/jobs/j1", states(*moving, {"state": "succeeded"}))
    pauses: list[float] = []

    Job(http, {**JOB, "state": "leased"}, sleep=pauses.append).wait()

    assert max(pauses) < 0.5


def test_a_failed_job_raises_the_class_of_its_code(http: Transport) -> None:
    failure = {"class": "invalid", "code": "onnx_invalid", "detail": "Node 3 has no input."}
    job = Job(http, {**JOB, "state": "failed", "failure": failure})

    with pytest.raises(InvalidModelFile, match=r"Node 3 has no input.*onnx_invalid"):
        job.wait()


def test_a_failure_with_a_code_from_a_newer_hub_is_a_failed_job(http: Transport) -> None:
    failure = {"class": "crash", "code": "gremlins", "detail": "Gremlins."}

    with pytest.raises(JobFailed, match="gremlins"):
        Job(http, {**JOB, "state": "failed", "failure": failure}).wait()


def test_a_cancelled_job_is_not_waited_for_in_silence(http: Transport) -> None:
    with pytest.raises(JobFailed, match="was cancelled"):
        Job(http, {**JOB, "state": "cancelled"}).wait()


def test_a_job_no_worker_takes_is_spoken_of_once(hub: Any, http: Transport) -> None:
    waiting = [{"state": "queued"}] * 40
    hub.on("GET", "/api/v1/jobs/j1", states(*waiting, {"state": "succeeded"}))

    with pytest.warns(WaitingWarning, match="has waited 30 s") as spoken:
        Job(http, {**JOB, "state": "queued"}, sleep=lambda _: None).wait()
    assert len(spoken) == 1


def test_waiting_has_an_end_of_its_own(hub: Any, http: Transport) -> None:
    hub.on("GET", "/api/v1/jobs/j1", {**JOB, "state": "leased"})

    with pytest.raises(TimeoutError, match="has not ended within 0 s"):
        Job(http, {**JOB, "state": "leased"}, sleep=lambda _: None).wait(0)


def test_tuning_gives_a_job_a_target(hub: Any, client: Client, sent: Callable[..., Any]) -> None:
    answers = [{**JOB, "uuid": f"j{n}", "state": "succeeded"} for n in range(2)]
    hub.on("POST", TUNE, httpx.Response(202, json={"items": answers}))

    jobs = client.tune("lab/tiny", targets=["a", "b"], budget="2min")

    assert [job.uuid for job in jobs.wait()] == ["j0", "j1"]
    assert sent(hub.requests[0]) == {"targets": ["a", "b"], "budget_s": 120.0}


def test_cancelling_leaves_alone_what_has_ended(hub: Any, client: Client) -> None:
    answers = [{**JOB, "uuid": "j1", "state": "leased"}, {**JOB, "uuid": "j2", "state": "failed"}]
    hub.on("POST", TUNE, {"items": answers})
    hub.on("POST", "/api/v1/jobs/j1/cancel", {**JOB, "state": "cancelled"})

    jobs = client.tune("lab/tiny").cancel()

    assert [job.state for job in jobs] == ["cancelled", "failed"]


def test_trials_come_in_their_order(hub: Any, http: Transport) -> None:
    items = [{"uuid": f"t{n}", "number": n, "outcome": "measured"} for n in (2, 0, 1)]
    hub.on("GET", "/api/v1/jobs/j1/trials", {"items": items, "next": None})

    assert [trial.number for trial in Job(http, {**JOB, "state": "leased"}).trials] == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("90", 90), (90, 90), ("90s", 90), ("10min", 600), ("10 minutes", 600), ("1.5h", 5400)],
)
def test_durations_are_read(text: str | float, wanted: float) -> None:
    assert seconds(text) == wanted


@pytest.mark.parametrize("text", ["", "soon", "-3", "0", "3 days", "1e400"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        seconds(text)
