"""The page of a device: facts, history, records with confirmations, and buttons of operators."""

from typing import Any

import pytest
from django.test import Client

from registry.services.results.reproduction import reproduction_add
from registry.services.work.attempt import job_fail, job_succeed
from registry.services.work.job import job_submit
from registry.states import DeviceState, FailureClass, JobKind, ReproductionOutcome
from registry.tables import AuditEntry, Build, Device, Job, JobAttempt, Record, User
from tests.factories import make_user
from tests.hub.pages.conftest import Tuned
from tests.hub.pages.test_fleet import text
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(client: Client) -> User:
    """A signed-in operator."""
    user = make_user("olga", is_staff=True)
    client.force_login(user)
    return user


def address(device: Device) -> str:
    return f"/devices/{device.uuid}"


def test_a_device_is_described_by_its_facts(client: Client, bob: User) -> None:
    _, device = shopfloor.make_machine()
    facts = {"processor": "Example 8000", "memory_bytes": 16 << 30, "items": "<b>odd</b>"}
    tools = {"onnxruntime": {"onnxruntime": "1.24.1"}}
    Device.objects.update(facts=facts, tools=tools, owner=bob, is_emulated=True, run_s=7200.0)
    page = text(client, address(device))
    for words in (
        "Example 8000", "16.0 GB", "onnxruntime 1.24.1", "bob", "emulated", "2 h in total",
        "The device runs no job", "The device has had no job yet", "No record that you may see",
    ):  # fmt: skip
        assert words in page, words
    assert "<b>odd</b>" not in client.get(address(device)).text


def test_history_names_readable_jobs_only(client: Client, alice: User) -> None:
    floor = shopfloor.floor("alice/secret", private=True)
    floor.tune()
    ticket = floor.claim()
    job_fail(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        failure_class=FailureClass.CRASH,
        code="job_interrupted",
        detail="it fell over",
    )
    page = text(client, address(floor.device))
    assert "a private job" in page
    assert "crash" in page
    assert "secret" not in page
    client.force_login(alice)
    assert "alice/secret" in text(client, address(floor.device))


def test_history_goes_back_page_by_page(client: Client) -> None:
    floor = shopfloor.floor()
    job = floor.tune()
    for fence in range(31):
        JobAttempt.objects.create(
            job=job,
            fence=100 + fence,
            device=floor.device,
            target=floor.target,
            level=0,
            wait_s=fence,
            started_at=job.created_at,
            ended_at=job.created_at,
            end="released",
        )
    first = client.get(address(floor.device))
    assert len(first.context["attempts"]) == 30
    second = client.get(address(floor.device) + first.context["older"])
    assert [attempt.fence for attempt in second.context["attempts"]] == [100]


def reproduce(tuned: Tuned, outcome: ReproductionOutcome) -> Device:
    """Another device runs the faster build of a tuned model."""
    target, other = shopfloor.make_machine(name="floor-2")
    revision = tuned.job.revision
    job_submit(actor=None, kind=JobKind.REPRODUCE, revision=revision, target=target)
    floor = shopfloor.Floor(User.objects.get(username="alice"), revision, None, target, other)  # type: ignore[arg-type]
    ticket = floor.claim(JobKind.REPRODUCE)
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    build = Build.objects.get(record=tuned.record)
    reproduction_add(
        **held, build=str(build.uuid), tools={"onnxruntime": "1"}, outcome=outcome, deviation={}
    )
    job_succeed(**held, result={})
    return other


@pytest.mark.parametrize(
    ("outcome", "is_confirmed"),
    [(ReproductionOutcome.REPRODUCED, True), (ReproductionOutcome.DIFFERS, False)],
)
def test_records_name_the_devices_that_confirmed_them(
    client: Client, tuned: Tuned, outcome: ReproductionOutcome, *, is_confirmed: bool
) -> None:
    device = Device.objects.get()
    Record.objects.update(device=device)
    other = reproduce(tuned, outcome)
    page = client.get(address(device))
    confirmations = {record.pk: names for record, names in page.context["records"]}
    expected = [other] if is_confirmed else []
    assert list(confirmations[tuned.record.pk]) == expected
    assert f"/records/{tuned.record.pk}" in page.text
    record = text(client, f"/records/{tuned.record.pk}")
    assert "floor-1 of the hub" in record
    assert ("Its build was reproduced by floor-2" in record) is is_confirmed
    assert ("No other device has reproduced its build" in record) is not is_confirmed


def test_a_device_does_not_confirm_itself(client: Client, tuned: Tuned) -> None:
    device = Device.objects.get()
    Record.objects.update(device=device)
    reproduce(tuned, ReproductionOutcome.REPRODUCED)
    Job.objects.filter(kind=JobKind.REPRODUCE).update(device=device)
    records = client.get(address(device)).context["records"]
    assert all(not others for _, others in records)


def test_an_operator_drains_maintains_quarantines_and_retires(
    client: Client, operator: User
) -> None:
    _, device = shopfloor.make_machine()
    steps = [
        ("drain", DeviceState.DRAINING),
        ("resume", DeviceState.ACTIVE),
        ("maintenance", DeviceState.MAINTENANCE),
        ("quarantine", DeviceState.QUARANTINED),
        ("resume", DeviceState.ACTIVE),
        ("retire", DeviceState.RETIRED),
    ]
    for action, state in steps:
        assert f'formaction="{address(device)}/{action}"' in client.get(address(device)).text
        answer = client.post(f"{address(device)}/{action}", {"reason": "new disk"}, follow=True)
        assert answer.status_code == 200
        device.refresh_from_db()
        assert (device.state, device.reason in {"new disk", ""}) == (state, True)
    assert "formaction" not in client.get(address(device)).text
    entries = AuditEntry.objects.filter(actor__username="olga", action__startswith="device.")
    assert entries.count() == len(steps)


def test_an_owner_operates_a_device_but_for_its_quarantine(client: Client, bob: User) -> None:
    _, device = shopfloor.make_machine()
    Device.objects.update(owner=bob)
    client.force_login(bob)
    assert list(client.get(address(device)).context["actions"]) == [
        "drain",
        "maintenance",
        "retire",
    ]
    assert client.post(f"{address(device)}/drain").status_code == 302
    Device.objects.update(state=DeviceState.QUARANTINED)
    assert "resume" not in client.get(address(device)).context["actions"]
    assert client.post(f"{address(device)}/resume").status_code == 403


@pytest.mark.parametrize("action", ["drain", "resume", "maintenance", "quarantine", "retire"])
def test_nobody_else_operates_a_device(client: Client, bob: User, action: str) -> None:
    _, device = shopfloor.make_machine()
    place = f"{address(device)}/{action}"
    assert client.post(place).status_code == 302
    client.force_login(bob)
    assert client.post(place).status_code == 403
    assert client.get(place).status_code == 405
    assert "Operate" not in client.get(address(device)).text
    device.refresh_from_db()
    assert device.state == DeviceState.ACTIVE


def test_the_state_is_fetched_again(client: Client) -> None:
    _, device = shopfloor.make_machine()
    answer = client.get(address(device), headers={"HX-Request": "true"})
    assert 'id="device-status"' in answer.text
    assert "<html" not in answer.text


def test_an_unknown_device_has_no_page(client: Client) -> None:
    assert client.get("/devices/0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11").status_code == 404


def test_the_page_of_a_target_has_its_devices_and_queue(client: Client, tuned: Tuned) -> None:
    job_submit(actor=None, kind=JobKind.TUNE, revision=tuned.job.revision, target=tuned.job.target)
    page: Any = client.get(f"/targets/{shopfloor.SLUG}")
    assert f"/devices/{Device.objects.get().uuid}" in page.text
    assert "next for a free worker" in page.text
    assert "Utilisation in the last 24 hours" in page.text
