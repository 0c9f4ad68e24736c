"""Job bundles in the browser."""

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from registry.services.work.job import job_submit
from registry.states import BundleState, JobKind
from registry.tables import Device, Job, JobBundle, MLModel, User
from tests.bundles import Results, key_of
from tests.hub.pages.test_reading import text
from tests.programs import needs
from tests.registry import shopfloor

pytestmark = [pytest.mark.django_db, needs("cryptography")]

PAGE = "/settings/bundles"
FORM = {"device": "floor-1", "hours": "1", "lease": "24"}


@pytest.fixture
def operator(client: Client) -> User:
    """Signed in."""
    operator = User.objects.create(username="op", is_staff=True)
    client.force_login(operator)
    return operator


@pytest.fixture
def job(galaxy: MLModel) -> Job:
    """A search that waits."""
    revision = galaxy.refs.get(name="main").revision
    shopfloor.make_graph(revision)
    target, _ = shopfloor.make_machine()
    return job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)


@pytest.mark.usefixtures("operator")
def test_without_a_device_the_page_says_how_to_enrol_one(client: Client) -> None:
    assert "manage.py bundle enrol" in text(client, PAGE)


@pytest.mark.usefixtures("operator")
def test_jobs_go_out_and_results_come_in(client: Client, job: Job, tmp_path: Path) -> None:
    key = key_of(Device.objects.get(), tmp_path / "agent")
    assert client.post(PAGE, FORM).status_code == 302
    row = JobBundle.objects.get()
    assert str(row)[:8] in text(client, PAGE)
    file = client.get(f"{PAGE}/{row}/file")
    assert b"".join(file.streaming_content)  # type: ignore[arg-type]  # not asynchronous
    assert f'filename="{row}.bundle"' in file["Content-Disposition"]

    results = Results(row, key).end(str(job.uuid)).packed(tmp_path / "results")
    upload = SimpleUploadedFile("results", results.read_bytes())
    page = client.post(f"{PAGE}/upload", {"results": upload}, follow=True).content.decode()
    assert "The results are imported." in page
    assert "succeeded" in page
    row.refresh_from_db()
    assert row.state == BundleState.IMPORTED


@pytest.mark.usefixtures("operator", "job")
def test_refusals_are_messages(client: Client, tmp_path: Path) -> None:
    key_of(Device.objects.get(), tmp_path / "agent")
    upload = SimpleUploadedFile("results", b"no bundle")
    page = client.post(f"{PAGE}/upload", {"results": upload}, follow=True).content.decode()
    assert "The results are refused" in page
    page = client.post(f"{PAGE}/upload", {}, follow=True).content.decode()
    assert "No file was sent" in page
    assert "are imported" not in page
    client.post(PAGE, FORM)
    assert "No job waits" in client.post(PAGE, FORM).content.decode()


@pytest.mark.usefixtures("operator", "job")
def test_a_bundle_is_cancelled(client: Client, tmp_path: Path) -> None:
    key_of(Device.objects.get(), tmp_path / "agent")
    client.post(PAGE, FORM)
    row = JobBundle.objects.get()
    page = client.post(f"{PAGE}/{row}/cancel", follow=True).content.decode()
    assert "queued again" in page
    assert "cancelled" in page


@pytest.mark.parametrize("path", [PAGE, f"{PAGE}/0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11/file"])
def test_only_operators_see_bundles(client: Client, alice: User, path: str) -> None:
    assert client.get(path)["Location"].startswith("/login")
    client.force_login(alice)
    assert client.get(path).status_code == 403
    assert client.post(f"{PAGE}/upload", {}).status_code in {302, 403}
