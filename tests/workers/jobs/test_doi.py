"""DOIs are registered at a server that answers as DataCite documents it; never at DataCite."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from registry.selectors.repository.revision import revision_get
from registry.services.fair.doi import doi_request
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_update
from registry.states import JobState
from registry.tables import Identifier, Job, MLModel, User
from tests.datacite import PREFIX, TAKEN, DataCite, datacite
from tests.factories import make_mlmodel, readme
from workers import tasks
from workers.jobs import datacite as api
from workers.jobs import doi

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "# Stars\n\nIt counts the stars on photographs of the night sky, up to magnitude six.\n"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nobody waits; how long one would have."""
    waits: list[float] = []
    monkeypatch.setattr(doi, "DataCite", partial(api.DataCite, sleep=waits.append))
    return waits


@pytest.fixture
def server(settings: Any) -> Iterator[DataCite]:
    with datacite() as found:
        for name, value in found.settings().items():
            setattr(settings, name, value)
        yield found


def complete(name: str, actor: User) -> MLModel:
    """A model whose card says all that a DOI needs."""
    card = readme(TEXT, pipeline_tag="image-classification", authors=["Alice Adams"])
    return make_mlmodel(name, actor=actor, files={"README.md": card})


@pytest.fixture
def stars(server: DataCite, alice: User) -> MLModel:
    return complete("alice/stars", alice)


def registered(mlmodel: MLModel, actor: User) -> Job:
    """The job, after a worker had its turn."""
    job = doi_request(actor=actor, revision=revision_get(mlmodel))
    tasks.doi()
    job.refresh_from_db()
    return job


def test_a_doi_is_a_draft_first_and_then_findable(
    server: DataCite, stars: MLModel, alice: User
) -> None:
    job = registered(stars, alice)
    identifier = Identifier.objects.exclude(doi="").get()
    doi = f"{PREFIX}/{identifier.name}"
    assert (job.state, job.result["doi"]) == (JobState.SUCCEEDED, doi)
    assert identifier.doi == doi
    assert server.asked == [("PUT", f"/dois/{doi}")] * 2
    kept = server.dois[doi]
    assert kept["state"] == "findable"
    assert kept["url"].endswith(f"/ark:/99999/{identifier.name}")
    assert "Alice" in str(kept["creators"])
    assert kept["types"]["resourceTypeGeneral"] == "Model"


def test_asking_again_registers_nothing_new_and_tells_how_it_is(
    server: DataCite, stars: MLModel, alice: User
) -> None:
    registered(stars, alice)
    registered(stars, alice)
    assert len(server.dois) == 1
    assert next(iter(server.dois.values()))["state"] == "findable"


def test_hidden_then_shown_then_withdrawn_is_what_datacite_knows(
    server: DataCite, stars: MLModel, alice: User
) -> None:
    registered(stars, alice)
    (kept,) = server.dois
    mlmodel_update(actor=alice, mlmodel=stars, visibility="private")
    tasks.doi()
    assert server.dois[kept]["state"] == "registered"
    mlmodel_update(actor=alice, mlmodel=stars, visibility="public")
    tasks.doi()
    assert server.dois[kept]["state"] == "findable"
    mlmodel_delete(actor=alice, mlmodel=stars, reason="Wrong labels.")
    tasks.doi()
    assert "Withdrawn" in {date["dateType"] for date in server.dois[kept]["dates"]}
    assert server.dois[kept]["state"] == "findable"
    assert doi.update() == 0


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_not_now_is_asked_again(
    server: DataCite, stars: MLModel, alice: User, impatient: list[float], status: int
) -> None:
    server.faults = [(status, {"Retry-After": "7"})]
    assert registered(stars, alice).state == JobState.SUCCEEDED
    assert impatient == [7.0]


def test_not_now_for_long_queues_the_job_again_uncharged(
    server: DataCite, stars: MLModel, alice: User, impatient: list[float]
) -> None:
    server.faults = [(503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})] * 3
    job = registered(stars, alice)
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)
    assert impatient == [1.0, 2.0]
    assert server.dois == {}


def test_nobody_there_is_no_verdict_either(
    stars: MLModel, alice: User, settings: Any, impatient: list[float]
) -> None:
    settings.DATACITE_URL = "http://127.0.0.1:9"
    job = registered(stars, alice)
    assert job.state == JobState.QUEUED
    assert "DataCite does not answer" in job.events.latest("id").message


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("DATACITE_PASSWORD", "not this one", r"\(401\): Bad cred.*HPCFAIR_DATACITE_PASSWORD"),
        ("DATACITE_PREFIX", TAKEN, r"\(403\): You are not authorized.*HPCFAIR_DATACITE_PREFIX"),
    ],
)
def test_a_wrong_account_is_for_the_operators(
    stars: MLModel, alice: User, settings: Any, setting: str, value: str, said: str
) -> None:
    setattr(settings, setting, value)
    job = registered(stars, alice)
    assert (job.state, job.failure_code) == (JobState.FAILED, "doi_refused")
    assert re.search(said, job.failure_detail)
    assert value == TAKEN or value not in job.failure_detail


def test_what_datacite_finds_wrong_is_told_in_its_words_and_leaves_a_draft(
    server: DataCite, stars: MLModel, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.datacite.REQUIRED", ("url", "container"))
    job = registered(stars, alice)
    assert job.failure_code == "doi_refused"
    assert "(422): container: can't be blank" in job.failure_detail
    assert [kept["state"] for kept in server.dois.values()] == ["draft"]
    assert not Identifier.objects.exclude(doi="").exists()


@pytest.mark.parametrize("answer", [(301, {"Location": "http://127.0.0.1:9/"}), (418, {})])
def test_an_answer_nobody_documented_is_a_refusal(
    server: DataCite, stars: MLModel, alice: User, answer: tuple[int, dict[str, str]]
) -> None:
    server.faults = [answer]
    assert f"({answer[0]})" in registered(stars, alice).failure_detail


def test_what_cannot_be_told_now_is_told_later(
    server: DataCite, stars: MLModel, alice: User
) -> None:
    registered(stars, alice)
    mlmodel_update(actor=alice, mlmodel=stars, visibility="private")
    server.faults = [(503, {})] * 3
    assert doi.update() == 0
    row = Identifier.objects.exclude(doi="").get()
    assert row.doi_due_at is not None
    Identifier.objects.exclude(doi="").update(doi_due_at=row.minted_at)
    assert doi.update() == 1
    assert [kept["state"] for kept in server.dois.values()] == ["registered"]


def test_one_that_is_refused_keeps_no_other_waiting(
    server: DataCite, stars: MLModel, alice: User
) -> None:
    both = (stars, complete("alice/suns", alice))
    for mlmodel in both:
        registered(mlmodel, alice)
    for mlmodel in both:
        mlmodel_update(actor=alice, mlmodel=mlmodel, visibility="private")
    server.faults = [(422, {})]
    assert doi.update() == 1
    assert doi.update() == 0
    assert sorted(kept["state"] for kept in server.dois.values()) == ["findable", "registered"]
