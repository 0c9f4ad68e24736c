"""Agents over HTTP: access, answers, and a job from its claim to its end."""

from threading import BoundedSemaphore
from typing import Any

import pytest
from django.utils import timezone

from hpcfair.tickets import JobTicket
from hub.api.v1.work import agentclaim
from registry.services.work.devicecode import device_code_issue
from registry.states import DeviceState, JobState
from registry.tables import AuditEntry, Job, Trial
from tests.hub.api.client import Api
from tests.registry import shopfloor
from tests.registry.agents import Machine, machine, record_of
from tests.registry.shopfloor import Floor
from tests.registry.work.fleet import FACTS, new_key

pytestmark = pytest.mark.django_db

_NONE = "00000000-0000-4000-8000-000000000000"
_CLAIM = {"kinds": ["tune"], "available_s": None, "cached": []}


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def agent(floor: Floor) -> Machine:
    return machine(floor.target, checked_at=timezone.now(), last_seen_at=timezone.now())


@pytest.fixture
def api(agent: Machine) -> Api:
    return Api(secret=agent.token)


def claimed(api: Api, floor: Floor) -> dict[str, Any]:
    floor.tune()
    return dict(api.post("agent/claim", _CLAIM).ok()["job"])


def path(ticket: dict[str, Any], rest: str) -> str:
    return f"agent/jobs/{ticket['job_uuid']}/{rest}"


def write(api: Api, ticket: dict[str, Any], name: str, number: int | None, **columns: Any) -> Any:
    body = {"fence": ticket["fence"], "number": number, "columns": columns}
    return api.post(path(ticket, f"write/{name}"), body)


ADDRESSES = [
    ("POST", "agent/hello"),
    ("POST", "agent/check"),
    ("POST", "agent/leave"),
    ("POST", "agent/claim"),
    ("POST", "agent/heartbeat"),
    ("POST", f"agent/jobs/{_NONE}/read/trials_of_job"),
    ("POST", f"agent/jobs/{_NONE}/write/note"),
    ("POST", f"agent/jobs/{_NONE}/end"),
    ("GET", f"agent/jobs/{_NONE}/blobs/{'0' * 64}"),
    ("PUT", f"agent/jobs/{_NONE}/blobs/{'0' * 64}"),
]


@pytest.mark.parametrize(("method", "address"), ADDRESSES)
def test_only_devices_have_access(floor: Floor, method: str, address: str) -> None:
    for api, code in (
        (Api(), "not_authenticated"),
        (Api(floor.alice), "token_invalid"),
        (Api(secret="hpd_" + "0" * 38), "token_invalid"),
        (Api(secret="hpd_"), "token_invalid"),
    ):
        answer = api.send(method, address, {} if method == "POST" else None)
        assert (answer.status, answer.code) == (401, code)


@pytest.mark.parametrize("address", ["whoami", "models", "jobs", "tokens"])
def test_the_token_of_a_device_is_valid_for_no_other_address(api: Api, address: str) -> None:
    assert api.get(address).status == 401


def test_a_retired_device_has_no_access(floor: Floor, agent: Machine, api: Api) -> None:
    api.post("agent/leave", {}).ok(204)
    agent.device.refresh_from_db()
    assert agent.device.state == DeviceState.RETIRED
    assert api.post("agent/claim", _CLAIM).code == "token_invalid"


def test_a_job_goes_from_its_claim_to_its_end(floor: Floor, agent: Machine, api: Api) -> None:
    ticket = claimed(api, floor)
    assert ticket["mlmodel"] == "alice/squeezenet"
    assert ticket["settings"]["tune_budget_s"] > 0
    beat = {"jobs": [{"job": ticket["job_uuid"], "fence": ticket["fence"]}], "clock": None}
    (renewal,) = api.post("agent/heartbeat", beat).ok()["jobs"]
    assert (renewal["lost"], renewal["cancel"]) == (False, False)

    columns = {"phase": "search", "done": 1, "total": 9, "message": "at work"}
    write(api, ticket, "progress", None, **columns).ok()
    for _ in range(2):
        assert write(api, ticket, "trial_add", 1, trial=shopfloor.trial()).ok() == {"value": {}}
    assert Trial.objects.count() == 1
    document = record_of(floor.revision, _ticket(ticket))
    reply = write(api, ticket, "record_add", 2, document=document).ok()
    assert reply["value"] == {"record_id": document["record_id"]}
    body = {"fence": ticket["fence"], "parameters": {}}
    (trial,) = api.post(path(ticket, "read/trials_of_job"), body).ok()["value"]
    assert trial["number"] == 1

    report = agent.succeeded(_ticket(ticket))
    for _ in range(2):
        ended = api.post(path(ticket, "end"), report).ok()
        assert ended == {"state": "succeeded", "is_late": False}
    assert write(api, ticket, "note", 3, message="late").code == "lease_lost"


def _ticket(ticket: dict[str, Any]) -> JobTicket:
    return JobTicket.from_json(ticket)


def test_without_a_job_there_is_a_reason(api: Api) -> None:
    offer = api.post("agent/claim", _CLAIM).ok()
    assert (offer["job"], offer["check"]) == (None, None)
    assert offer["wait_s"] > 0
    assert offer["reason"]


def test_a_claim_that_finds_no_turn_comes_again_later(
    floor: Floor, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that wait for other claims would be missing for reports of results."""
    floor.tune()
    turns = BoundedSemaphore(1)
    monkeypatch.setattr(agentclaim, "_turns", turns)
    monkeypatch.setattr(agentclaim, "_TURN_S", 0.0)
    with turns:
        offer = api.post("agent/claim", _CLAIM).ok()
        assert (offer["job"], offer["reason"]) == (None, "the hub is busy with other claims")
        assert offer["wait_s"] >= 7.5
    assert api.post("agent/claim", _CLAIM).ok()["job"]
    assert turns.acquire(blocking=False)


def test_a_device_in_quarantine_is_told_so(floor: Floor, agent: Machine, api: Api) -> None:
    ticket = claimed(api, floor)
    thief = Api(secret=machine(floor.target, "thief", checked_at=timezone.now()).token)
    answer = write(thief, ticket, "note", 1, message="mine now")
    assert (answer.status, answer.code) == (404, "job_not_found")
    answer = write(thief, ticket, "note", 1, message="mine now")
    assert (answer.status, answer.code) == (403, "device_quarantined")
    state = thief.post("agent/heartbeat", {"jobs": []}).ok()["state"]
    assert state == DeviceState.QUARANTINED
    assert AuditEntry.objects.filter(action="device.offence").count() == 1
    assert Job.objects.get().state == JobState.LEASED
    write(api, ticket, "note", 1, message="still mine").ok()


def test_a_write_without_a_number_is_refused(floor: Floor, api: Api) -> None:
    ticket = claimed(api, floor)
    answer = write(api, ticket, "note", None, message="hello")
    assert (answer.status, answer.json["fields"]) == (400, {"number": "is missing"})


def test_a_used_number_with_another_body_is_a_conflict(floor: Floor, api: Api) -> None:
    ticket = claimed(api, floor)
    write(api, ticket, "note", 1, message="hello").ok()
    answer = write(api, ticket, "note", 1, message="other")
    assert (answer.status, answer.code) == (409, "write_differs")


@pytest.mark.parametrize("fence", [0, -1, 2, 2**40, "1; DROP", None, True, 1.5])
def test_a_wrong_fence_is_refused(floor: Floor, api: Api, fence: Any) -> None:
    ticket = claimed(api, floor)
    body = {"fence": fence, "number": 1, "columns": {"message": "x"}}
    answer = api.post(path(ticket, "write/note"), body)
    assert answer.status in {400, 404}
    if answer.status == 400:
        assert Job.objects.get().state == JobState.LEASED


@pytest.mark.parametrize(
    "text",
    [
        '{"fence": 1, "number": 1, "columns": {"message": NaN}}',
        '{"fence": 1, "number": 1, "columns": {"message": 1e999}}',
        '{"fence": 1, "number": 1, "columns": {"message": "\\u0000"}}',
        '{"fence": 1, "number": 1, "columns": {"message": "\\ud800"}}',
        '{"fence": 1, "number": 1, "columns": ' + '{"a":' * 2000 + "1" + "}" * 2000 + "}",
        '{"fence": 1, "number": 1, "columns": [1, 2',
        "[]",
    ],
)
def test_a_malformed_body_is_refused(floor: Floor, api: Api, text: str) -> None:
    ticket = claimed(api, floor)
    answer = api.send(
        "POST", path(ticket, "write/note"), raw=text.encode(), Content_Type="application/json"
    )
    assert (answer.status, answer.code) == (400, "invalid_request")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"kinds": []},
        {"kinds": ["inspect"]},
        {"kinds": ["tune"], "available_s": -1},
        {"kinds": ["tune"], "cached": ["not a digest"]},
        {"kinds": ["tune"], "priority": 0},
    ],
)
def test_a_malformed_claim_is_refused(floor: Floor, api: Api, body: dict[str, Any]) -> None:
    floor.tune()
    assert api.post("agent/claim", body).code == "invalid_request"
    assert Job.objects.get().state == JobState.QUEUED


def test_a_machine_joins_by_a_code_and_says_hello(floor: Floor) -> None:
    code = device_code_issue(actor=None, target=floor.target.slug)
    body = {"code": code, "name": "lab-7", "facts": FACTS, "public_key": new_key()}
    joined = Api().post("agent/enrol", body).ok(201)
    assert (joined["device"], joined["target"]["slug"]) == ("lab-7", floor.target.slug)
    assert Api().post("agent/enrol", body).status in {404, 409}
    hello = {"facts": FACTS, "tools": {}, "agent_version": "1", "clock": "1970-01-01T00:00:00Z"}
    welcome = Api(secret=joined["token"]).post("agent/hello", hello).ok()
    assert welcome["state"] == DeviceState.ACTIVE
    assert welcome["clock"][:4] == str(timezone.now().year)
    check = Api(secret=joined["token"]).post("agent/claim", _CLAIM).ok()
    assert check["reason"] == "health check"
    assert check["check"]["seed"] >= 0
