"""DOIs, and who people are, over HTTP."""

from typing import Any

import pytest

from registry.states import JobKind, Scope
from registry.tables import AuditEntry, Job, MLModel, Namespace, User
from tests.factories import commit_files, readme
from tests.hub.api.client import Api

PATH = "models/lab/galaxy-cnn/doi"
TEXT = "# Galaxies\n\nIt sorts photographs of galaxies by shape, as people on the web did before.\n"
ORCID, ROR = "https://orcid.org/0000-0002-1825-0097", "https://ror.org/05gq02987"


@pytest.fixture
def account(settings: Any) -> None:
    """The hub has an account with DataCite."""
    settings.DATACITE_ACCOUNT, settings.DATACITE_PASSWORD = "EXAMPLE.HUB", "quite secret"
    settings.DATACITE_PREFIX = "10.82433"


def test_a_doi_is_a_job_and_asking_twice_is_asking_once(
    as_charlie: Api, galaxy: MLModel, account: None
) -> None:
    card = readme(TEXT, pipeline_tag="image-classification", authors=["Charlie Clark"])
    commit_files(galaxy, {"README.md": card})
    job = as_charlie.post(PATH, {}).ok(202)
    assert (job["kind"], job["state"], job["target"]) == ("doi", "queued", None)
    assert as_charlie.post(PATH, {"revision": "main"}).ok(202)["uuid"] == job["uuid"]
    assert Job.objects.filter(kind=JobKind.DOI).count() == 1


def test_what_the_record_lacks_is_named(as_charlie: Api, galaxy: MLModel, account: None) -> None:
    answer = as_charlie.post(PATH, {})
    assert (answer.status, answer.code) == (400, "doi_incomplete")
    assert {"description", "creators"} <= set(answer.json["fields"])


def test_a_hub_without_an_account_says_so(as_charlie: Api, galaxy: MLModel) -> None:
    answer = as_charlie.post(PATH, {})
    assert (answer.status, answer.code) == (400, "doi_not_offered")


def test_a_version_that_is_not_there(as_charlie: Api, galaxy: MLModel, account: None) -> None:
    assert as_charlie.post(PATH, {"revision": "v9"}).code == "revision_not_found"
    assert as_charlie.post(PATH, {"version": "v9"}).code == "invalid_request"


def test_a_person_says_who_they_are(alice: User) -> None:
    admin = Api(alice, Scope.ADMIN)
    asked = {"orcid": "0000-0002-1825-0097", "affiliation_ror": "05gq02987", "affiliation": "Brown"}
    told = admin.patch("whoami", asked).ok()
    assert (told["orcid"], told["affiliation"], told["affiliation_ror"]) == (ORCID, "Brown", ROR)
    assert admin.get("whoami").ok() == told
    assert admin.patch("whoami", {"orcid": ""}).ok()["orcid"] == ""
    assert admin.get("whoami").ok()["affiliation"] == "Brown"
    assert AuditEntry.objects.filter(action="user.update", actor=alice).count() == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"orcid": "0000-0002-1825-0098"}, "orcid"),
        ({"affiliation_ror": "x"}, "affiliation_ror"),
        ({"full_name": "a\nb"}, "full_name"),
        ({"username": "bob"}, "username"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(
    alice: User, body: dict[str, str], field: str
) -> None:
    answer = Api(alice, Scope.ADMIN).patch("whoami", body)
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert list(answer.json["fields"]) == [field]


def test_a_token_must_be_of_the_whole_account(alice: User) -> None:
    assert Api(alice).patch("whoami", {"orcid": ""}).code == "scope_missing"
    assert Api().patch("whoami", {"orcid": ""}).code == "not_authenticated"


def test_admins_say_who_their_organisation_is(lab: Namespace, charlie: User, bob: User) -> None:
    admin = Api(charlie, Scope.ADMIN)
    assert admin.patch("organisations/lab", {"ror": "05gq02987"}).ok()["ror"] == ROR
    assert Api().get("organisations/lab").ok()["ror"] == ROR
    assert admin.patch("organisations/charlie", {"ror": ROR}).code == "invalid_request"
    assert Api(bob, Scope.ADMIN).patch("organisations/lab", {"ror": ""}).code == "permission_denied"
