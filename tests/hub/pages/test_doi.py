"""Asking for a DOI in the settings."""

from typing import Any

import pytest
from django.test import Client

from registry.services.work.attempt import job_claim, job_fail
from registry.states import FailureClass, JobKind, RepositoryKind
from registry.tables import Identifier, Job, MLModel, User
from tests.factories import make_mlmodel, readme
from tests.hub.pages.test_reading import text

pytestmark = pytest.mark.django_db

TEXT = "# Stars\n\nIt counts the stars on photographs of the night sky, up to magnitude six.\n"
PAGE = "/alice/stars/settings"


@pytest.fixture
def account(settings: Any) -> None:
    """The hub has an account with DataCite."""
    settings.DATACITE_ACCOUNT, settings.DATACITE_PASSWORD = "EXAMPLE.HUB", "quite secret"
    settings.DATACITE_PREFIX = "10.82433"


@pytest.fixture
def owner(client: Client, alice: User) -> Client:
    """The browser of alice, whose ``alice/stars`` has all that a DOI needs."""
    card = readme(TEXT, pipeline_tag="image-classification", authors=["Alice Adams"])
    make_mlmodel("alice/stars", actor=alice, files={"README.md": card})
    client.force_login(alice)
    return client


def test_without_an_account_the_page_says_so_and_offers_nothing(owner: Client) -> None:
    page = text(owner, PAGE)
    assert "no DataCite account" in page
    assert "Register a DOI" not in page
    answer = owner.post(f"{PAGE}/doi", follow=True)
    assert "registers no DOIs" in answer.content.decode()
    assert not Job.objects.filter(kind=JobKind.DOI).exists()


def test_a_doi_is_asked_for_and_shown_once_it_is_there(owner: Client, account: None) -> None:
    assert "Register a DOI" in text(owner, PAGE)
    answer = owner.post(f"{PAGE}/doi", {"revision": "main"})
    assert (answer.status_code, answer["Location"]) == (302, f"{PAGE}#doi")
    job = Job.objects.get(kind=JobKind.DOI)
    page = text(owner, PAGE)
    assert "is in progress" in page
    assert f"/jobs/{job.uuid}" in page
    Identifier.objects.filter(revision=job.revision).update(doi="10.82433/h2x")
    assert 'href="https://doi.org/10.82433/h2x"' in text(owner, PAGE)


def test_why_it_failed_is_told_there(owner: Client, account: None) -> None:
    owner.post(f"{PAGE}/doi", {"revision": "main"})
    ticket = job_claim(device_name=None, kinds=[JobKind.DOI], target=None)
    assert ticket is not None
    job_fail(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        failure_class=FailureClass.INVALID,
        code="doi_refused",
        detail="DataCite refused (422): <b>titles</b>: too long.",
    )
    page = text(owner, PAGE)
    assert "DataCite refused (422)" in page
    assert "<b>titles" not in page


def test_what_the_record_lacks_is_said(owner: Client, account: None, alice: User) -> None:
    make_mlmodel("alice/bare", actor=alice, files={"README.md": readme("# A\n\nShort.\n")})
    answer = owner.post("/alice/bare/settings/doi", {"revision": "main"}, follow=True)
    assert "alice/bare cannot have a DOI yet: description" in answer.content.decode()
    assert not Job.objects.filter(kind=JobKind.DOI).exists()


def test_a_data_set_can_have_one(owner: Client, account: None, alice: User) -> None:
    card = readme(TEXT, authors=["Alice Adams"])
    make_mlmodel("alice/sky", actor=alice, files={"README.md": card}, kind=RepositoryKind.DATASET)
    answer = owner.post("/datasets/alice/sky/settings/doi", {"revision": "main"})
    assert answer["Location"] == "/datasets/alice/sky/settings#doi"
    assert Job.objects.get(kind=JobKind.DOI).revision.mlmodel.name == "sky"


def test_only_writers_ask(client: Client, galaxy: MLModel, account: None, alice: User) -> None:
    path = "/lab/galaxy-cnn/settings/doi"
    assert client.post(path)["Location"].startswith("/login")
    client.force_login(alice)
    assert client.post(path).status_code == 403
    assert client.get(path).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post(path).status_code == 403


def test_a_version_that_is_not_there_is_refused(owner: Client, account: None) -> None:
    assert owner.post(f"{PAGE}/doi", {"revision": "v9"}).status_code == 404
