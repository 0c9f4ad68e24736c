"""A device that was interrupted reports its open claim."""

import os
import signal
from pathlib import Path

import pytest

from tests.workers.agent.conftest import make_ticket, until
from tests.workers.agent.scriptedhub import Answer, Request, ScriptedHub, problem, value
from workers.agent import claims
from workers.agent import journal as journal_module
from workers.agent.claims import ClaimedJobs
from workers.agent.heartbeat import Heartbeat
from workers.agent.journal import Journal
from workers.device.errors import HubError
from workers.device.ports import DeviceSettings, Hub
from workers.fleet.probe import ThisMachine, this_machine

CANDIDATE = "c" * 64
FAILURE = {"class": "invalid", "code": "no_backend", "detail": ""}


def answer_of(request: Request) -> Answer:
    """A hub that accepts everything."""
    if request.path == "heartbeat":
        flags = {"lease_s": 90.0, "lost": False, "cancel": False}
        return 200, {"jobs": [{**job, **flags} for job in request.body["jobs"]], "state": "active"}
    return (200, {"state": "queued", "is_late": False}) if is_end(request) else value(request)


def is_end(request: Request) -> bool:
    return request.path.endswith("/end")


def sent(hub: ScriptedHub) -> list[Request]:
    """The requests of the agent, without those of its heartbeats."""
    return [request for request in hub.requests if request.path != "heartbeat"]


@pytest.fixture
def restarted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine is restarted after the journal was written."""
    (tmp_path / "boot_id").write_text("another\n")
    monkeypatch.setattr(journal_module, "_BOOT_ID", tmp_path / "boot_id")


def test_the_lease_of_an_open_claim_is_renewed_from_the_start(
    hub: ScriptedHub, journal: Journal, jobs: ClaimedJobs
) -> None:
    hub.answer = answer_of
    journal.begin(make_ticket())
    jobs.hold()
    held = [{"job": make_ticket()["job_uuid"], "fence": 3}]
    until(lambda: hub.requests and hub.requests[-1].body["jobs"] == held)


def test_a_candidate_that_took_the_machine_down_is_named(
    hub: ScriptedHub,
    journal: Journal,
    jobs: ClaimedJobs,
    request: pytest.FixtureRequest,
) -> None:
    hub.answer = answer_of
    journal.begin(make_ticket())
    # The hub was away when it began.
    journal.note_candidate(CANDIDATE)
    request.getfixturevalue("restarted")
    jobs.hold()
    jobs.resume(this_machine())
    candidate, end = sent(hub)
    assert candidate.path.endswith("write/candidate_begin")
    assert candidate.body == {"fence": 3, "columns": {"config_sha256": CANDIDATE}}
    assert end.body["outcome"] == "failed"
    assert end.body["failure"]["code"] == "job_interrupted"
    assert CANDIDATE in end.body["failure"]["detail"]
    assert journal.claim() is None
    until(lambda: hub.requests[-1].path == "heartbeat" and not hub.requests[-1].body["jobs"])


def test_a_trial_ends_the_suspicion_against_its_candidate(journal: Journal) -> None:
    journal.begin(make_ticket())
    journal.note_candidate(CANDIDATE)
    journal.add("note", {"message": "x"})
    claim = journal.claim()
    assert claim is not None
    assert claim.candidate == CANDIDATE
    journal.add("trial_add", {"trial": {}})
    claim = journal.claim()
    assert claim is not None
    assert claim.candidate == ""


def test_a_refused_result_does_not_prevent_the_end(
    hub: ScriptedHub, journal: Journal, jobs: ClaimedJobs
) -> None:
    def answer(request: Request) -> Answer:
        if "write/note" in request.path:
            return problem(400, "invalid_request")
        return answer_of(request)

    hub.answer = answer
    journal.begin(make_ticket())
    for text in "ab":
        journal.add("note", {"message": text})
    journal.add("profile_store", {"profile": {}})
    journal.end({"outcome": "failed", "failure": FAILURE, "signature": ""})
    jobs.resume(this_machine())
    names = [request.path.rpartition("/")[2] for request in sent(hub)]
    assert names == ["note", "note", "profile_store", "end"]
    assert journal.claim() is None


@pytest.mark.parametrize("answer", [(413, b"<html>a proxy</html>"), problem(500, "http_500")])
def test_an_error_of_a_proxy_gets_a_code_that_the_hub_knows(
    hub: ScriptedHub,
    jobs: ClaimedJobs,
    answer: Answer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def work(port: Hub, settings: DeviceSettings, here: ThisMachine) -> dict[str, str]:
        del settings, here
        with pytest.raises(HubError) as refusal:
            port.read("trials_of_job")
        raise refusal.value

    def answered(request: Request) -> Answer:
        return answer if "read/" in request.path else answer_of(request)

    hub.answer = answered
    monkeypatch.setitem(claims.WORK, "tune", work)
    monkeypatch.setattr("workers.agent.outbox._MOST_FAULTS", 1)
    jobs.perform(make_ticket(), this_machine())
    (end,) = (request for request in hub.requests if is_end(request))
    assert end.body["failure"]["code"] == "internal_error"


def test_work_is_not_interrupted_in_the_middle_of_an_answer(
    hub: ScriptedHub,
    jobs: ClaimedJobs,
    heartbeat: Heartbeat,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listened = []
    listen = heartbeat.listen

    def interrupted() -> None:
        if not listened:
            listened.append("begins")
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
            listen()
            listened.append("ends")

    def work(port: Hub, settings: DeviceSettings, here: ThisMachine) -> dict[str, str]:
        del settings, here
        monkeypatch.setattr(heartbeat, "listen", interrupted)
        port.check()
        return {"summary": "not interrupted"}

    hub.answer = answer_of
    monkeypatch.setitem(claims.WORK, "tune", work)
    jobs.perform(make_ticket(), this_machine())
    assert listened == ["begins", "ends"]
    (end,) = (request for request in hub.requests if is_end(request))
    assert end.body["outcome"] == "released"
