"""The page of the fleet: jobs of devices, wait reasons, failures; codes for new devices."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from registry.services.work.attempt import job_progress
from registry.services.work.reaper import job_reap
from registry.states import DeviceHealth, DeviceState
from registry.tables import AuditEntry, Device, Job, User
from tests.factories import make_user
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def text(client: Client, address: str) -> str:
    """The text of a page, without its tags."""
    answer = client.get(address)
    assert answer.status_code == 200
    return " ".join(html.unescape(re.sub("<[^>]+>", "", answer.text)).split())


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def operator(client: Client) -> User:
    """A signed-in operator."""
    user = make_user("olga", is_staff=True)
    client.force_login(user)
    return user


def test_an_empty_hub_has_no_fleet(client: Client) -> None:
    assert "No device has joined yet" in text(client, "/fleet")


def test_devices_are_shown_with_their_jobs_and_the_time_left(client: Client, floor: Floor) -> None:
    floor.tune()
    ticket = floor.claim()
    job_progress(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        phase="search",
        done=3,
        total=None,
        message="onnxruntime threads=all",
        used_s=10.0,
        budget_s=60.0,
    )
    page = text(client, "/fleet")
    for words in (
        "1 of 1 device busy, 0 jobs waiting",
        "floor-1",
        "Searching configurations: 10 of 60 s, about 50 s left",
        "alice/squeezenet",
        "1 of 3",
        "ends in 45 s",
        "No attempt failed",
        "Utilisation in the last 24 hours",
    ):
        assert words in page, words


def test_waiting_jobs_have_their_reasons(client: Client, floor: Floor) -> None:
    floor.tune()
    shopfloor.floor("bob/net").tune()
    page = text(client, "/fleet")
    assert "next for a free worker" in page
    assert "1 job of others is ahead" in page
    assert "2 jobs waiting" in page


def test_a_device_is_offline_although_no_worker_runs_that_would_notice(
    client: Client, floor: Floor
) -> None:
    job = floor.tune()
    for address, words in (
        ("/fleet", "floor-1 offline"),
        (f"/jobs/{job.uuid}", "no device of the target is online"),
        (f"/devices/{floor.device.uuid}", "floor-1 offline"),
        ("/targets", "floor-1 offline"),
        ("/api/v1/devices", '"health":"offline"'),
        (f"/api/v1/jobs/{job.uuid}", "no device of the target is online"),
    ):
        since = timezone.now() - timedelta(hours=1)
        Device.objects.update(last_seen_at=since, health=DeviceHealth.ONLINE)
        assert words in text(client, address), address


def test_failures_of_a_day_are_counted(client: Client, floor: Floor) -> None:
    floor.tune()
    floor.claim()
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    job_reap()
    assert "lease lost" in text(client, "/fleet")


def test_private_jobs_have_no_name(client: Client) -> None:
    floor = shopfloor.floor("alice/secret", private=True)
    floor.tune()
    waiting = text(client, "/fleet")
    assert "1 job waiting" in waiting
    floor.claim()
    running = text(client, "/fleet")
    assert "a private job" in running
    assert "secret" not in waiting + running


def test_filters_apply_and_stay_selected(client: Client, floor: Floor) -> None:
    shopfloor.make_machine("x86-64-avx2", name="rack-7")
    Device.objects.filter(name="rack-7").update(state=DeviceState.MAINTENANCE, reason="new disk")
    page = text(client, "/fleet")
    assert "floor-1" in page
    assert "rack-7" in page
    page = text(client, "/fleet?target=x86-64-avx2")
    assert "rack-7" in page
    assert "floor-1" not in page
    page = text(client, "/fleet?state=maintenance")
    assert "new disk" in page
    assert "floor-1" not in page
    assert "rack-7" not in text(client, "/fleet?name=floor")
    assert "No device matches" in text(client, "/fleet?state=retired")
    answer = client.get("/fleet?state=maintenance")
    assert "<option selected>maintenance</option>" in answer.text
    assert client.get("/fleet?target=nothing").status_code == 404


def test_many_devices_are_shown_in_parts(client: Client) -> None:
    for number in range(31):
        shopfloor.make_machine(name=f"rack-{number:02}")
    first = client.get("/fleet")
    assert ("rack-29" in first.text, "rack-30" in first.text) == (True, False)
    second = client.get("/fleet" + first.context["more"])
    assert ("rack-29" in second.text, "rack-30" in second.text) == (False, True)


def test_only_live_parts_are_fetched_again(client: Client, floor: Floor) -> None:
    state = client.get("/fleet", headers=HTMX)
    assert 'id="fleet-state"' in state.text
    assert '<div class="grid fleet-counts" id="fleet-counts" hx-swap-oob="true">' in state.text
    assert "<html" not in state.text
    assert "fleet-utilisation" not in state.text
    chart = client.get("/fleet", headers=HTMX | {"HX-Target": "fleet-utilisation"})
    assert 'id="fleet-utilisation"' in chart.text
    assert 'id="fleet-state"' not in chart.text


def test_an_operator_issues_a_code_with_the_commands(
    client: Client, floor: Floor, operator: User
) -> None:
    assert "Issue a code" in text(client, "/fleet")
    answer = client.post("/fleet/code", {"target": shopfloor.SLUG})
    code = answer.context["code"]
    assert "pip install 'hpcfair-agent[onnxruntime" in answer.text
    assert f"hpcfair-agent join {code} --hub http://127.0.0.1:8000" in answer.text
    assert "hpcfair-agent run" in answer.text
    assert (
        answer.headers["Cache-Control"] == "max-age=0, no-cache, no-store, must-revalidate, private"
    )
    assert code not in str(list(AuditEntry.objects.values()))
    assert client.post("/fleet/code", {"target": "nothing"}).status_code == 400
    assert "There is no user" in client.post("/fleet/code", {"owner": "nobody"}).text


@pytest.mark.parametrize("method", ["get", "post"])
def test_nobody_else_gets_a_code(client: Client, floor: Floor, method: str, bob: User) -> None:
    client.force_login(bob)
    answer: Any = getattr(client, method)("/fleet/code")
    assert answer.status_code == (405 if method == "get" else 403)
    assert "Issue a code" not in text(client, "/fleet")
    client.logout()
    if method == "post":
        assert client.post("/fleet/code").status_code == 302
