"""The page of a run: its arrays, times and deviation, a download and a deletion, for one person."""

import io
import re

import numpy as np
import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from registry.selectors.work.run import run_get
from registry.services.work.attempt import job_progress
from registry.tables import MLModel, RemoteRun, Target, User
from tests.hub.pages.conftest import sign_in
from tests.programs import needs
from tests.registry.work.runs import claim, finish, inspected, submit

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def target(galaxy: MLModel) -> Target:
    return inspected(galaxy)


@pytest.fixture
def run(alice: User, galaxy: MLModel, target: Target) -> RemoteRun:
    """A queued run of alice."""
    return submit(alice, galaxy, target)


def path(run: RemoteRun, tail: str = "") -> str:
    return f"/jobs/{run.job.uuid}{tail}"


def test_a_run_shows_its_inputs_and_progress(
    client: Client, alice: User, run: RemoteRun, target: Target
) -> None:
    client.force_login(alice)
    text = client.get(path(run)).content.decode()
    assert "float32[2, 4]" in text
    assert "The published model" in text
    assert "Cancel" in text
    ticket = claim(target)
    job_progress(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        phase="compare",
        done=0,
        total=None,
        message="",
    )
    text = client.get(path(run), headers=HTMX).content.decode()
    assert "Comparing the outputs with the reference" in text


def test_a_finished_run_shows_times_and_deviation_and_offers_its_outputs(
    client: Client, alice: User, run: RemoteRun, target: Target
) -> None:
    outputs = finish(target)
    client.force_login(alice)
    text = client.get(path(run)).content.decode()
    assert "1.05 ms" in text
    assert "Durations of the runs" in text
    assert "at most 1.0e-07 of the largest output" in text
    assert f'href="{path(run, "/outputs")}"' in text
    assert re.search(r"It is deleted on \d{4}-\d\d-\d\d", text)
    answer = client.get(path(run, "/outputs"))
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert "outputs-" in answer.headers["Content-Disposition"]
    data = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert data == outputs
    assert np.load(io.BytesIO(data))["y"].shape == (2, 3)


def test_nobody_else_sees_it(client: Client, charlie: User, run: RemoteRun, target: Target) -> None:
    finish(target)
    tails = ("", "/outputs")
    assert {client.get(path(run, tail)).status_code for tail in tails} == {404}
    client.force_login(charlie)
    assert {client.get(path(run, tail)).status_code for tail in tails} == {404}
    assert client.post(path(run, "/delete")).status_code == 404
    assert str(run.job.uuid) not in client.get("/jobs").content.decode()
    assert str(run.job.uuid) not in client.get("/lab/galaxy-cnn/jobs").content.decode()


def test_its_owner_deletes_the_data(
    client: Client, alice: User, run: RemoteRun, target: Target
) -> None:
    finish(target)
    client.force_login(alice)
    answer = client.post(path(run, "/delete"), follow=True)
    assert "are deleted" in answer.content.decode()
    assert run_get(alice, str(run.job.uuid)).inputs is None
    assert client.get(path(run, "/outputs")).status_code == 404


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@needs("chromium")
def test_a_person_downloads_the_outputs(
    page: Page, alice: User, galaxy: MLModel, target: Target
) -> None:
    run = submit(alice, galaxy, target)
    sign_in(page, "alice")
    page.goto(path(run))
    expect(page.get_by_text("float32[2, 4]")).to_be_visible()
    outputs = finish(target)
    # The page refreshes itself when the run ends.
    link = page.get_by_role("link", name=re.compile("Download the outputs"))
    expect(link).to_be_visible()
    expect(
        page.locator("[data-chart=durations] canvas, [data-chart=durations] svg").first
    ).to_be_visible()
    with page.expect_download() as download:
        link.click()
    assert download.value.path().read_bytes() == outputs
