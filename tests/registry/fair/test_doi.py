"""DOIs: who may ask, for what, and what DataCite is to be told later."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from hpcfair.tickets import JobTicket
from registry.errors import Forbidden, Invalid, NotFound, Unauthenticated
from registry.selectors.fair.description import describe
from registry.selectors.fair.identifier import identifier_of, identifiers_of
from registry.selectors.repository.revision import revision_get
from registry.services.fair.doi import (
    CLAIM,
    PUT_OFF,
    DoiTicket,
    doi_begin,
    doi_claim,
    doi_keep,
    doi_put_off,
    doi_request,
    doi_told,
)
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_move, mlmodel_update
from registry.services.work.attempt import job_claim
from registry.states import JobKind
from registry.tables import AuditEntry, Identifier, MLModel, User
from tests.factories import commit_files, make_mlmodel, readme

pytestmark = pytest.mark.django_db

TEXT = "# Stars\n\nIt counts the stars on photographs of the night sky, up to magnitude six.\n"


@pytest.fixture(autouse=True)
def account(settings: Any) -> None:
    """The hub has an account."""
    settings.DATACITE_ACCOUNT, settings.DATACITE_PASSWORD = "EXAMPLE.HUB", "quite secret"
    settings.DATACITE_PREFIX = "10.82433"


@pytest.fixture
def stars(alice: User) -> MLModel:
    """A model whose card says all that a DOI needs."""
    card = readme(TEXT, pipeline_tag="image-classification", authors=["Alice Adams"])
    return make_mlmodel("alice/stars", actor=alice, files={"README.md": card})


def claimed() -> JobTicket:
    ticket = job_claim(device_name=None, kinds=[JobKind.DOI], target=None)
    assert ticket is not None
    return ticket


def register(mlmodel: MLModel, actor: User) -> DoiTicket:
    """What the job does, without DataCite."""
    doi_request(actor=actor, revision=revision_get(mlmodel))
    job = claimed()
    ticket = doi_begin(job_uuid=job.job_uuid, fence=job.fence)
    doi_keep(job_uuid=job.job_uuid, ticket=ticket)
    return ticket


def row(ticket: DoiTicket) -> Identifier:
    return Identifier.objects.get(name=ticket.identifier)


def test_a_doi_is_made_of_the_identifier_and_leads_to_it(stars: MLModel, alice: User) -> None:
    identifier = identifier_of(revision_get(stars))
    assert identifier is not None
    doi_request(actor=alice, revision=revision_get(stars))
    job = claimed()
    ticket = doi_begin(job_uuid=job.job_uuid, fence=job.fence)
    attributes = ticket.body["data"]["attributes"]
    assert ticket.doi == f"10.82433/{identifier.name}" == attributes["doi"]
    assert attributes["url"].endswith(f"/ark:/99999/{identifier.name}")
    assert attributes["event"] == "publish"
    assert row(ticket).doi == ""
    doi_keep(job_uuid=job.job_uuid, ticket=ticket)
    assert (row(ticket).doi, row(ticket).doi_due_at) == (ticket.doi, None)
    entry = AuditEntry.objects.get(action="doi.register")
    assert (entry.actor, entry.namespace, entry.detail) == (alice, "alice", {"doi": ticket.doi})


def test_asking_again_is_asking_for_the_same(stars: MLModel, alice: User) -> None:
    first = doi_request(actor=alice, revision=revision_get(stars))
    assert doi_request(actor=alice, revision=revision_get(stars)) == first
    job = claimed()
    before = doi_begin(job_uuid=job.job_uuid, fence=job.fence)
    assert doi_begin(job_uuid=job.job_uuid, fence=job.fence).doi == before.doi
    doi_keep(job_uuid=job.job_uuid, ticket=before)
    doi_keep(job_uuid=job.job_uuid, ticket=before)
    assert AuditEntry.objects.filter(action="doi.register").count() == 1


def test_a_registered_doi_changes_the_record(stars: MLModel, alice: User) -> None:
    before = stars.updated_at
    assert describe(revision_get(stars)).doi is None
    made = register(stars, alice)
    stars.refresh_from_db()
    assert stars.updated_at > before
    assert describe(revision_get(stars)).doi == f"https://doi.org/{made.doi}"


def test_each_version_has_its_own(stars: MLModel, alice: User) -> None:
    first = register(stars, alice)
    commit_files(stars, {"notes.txt": "more"}, actor=alice)
    second = register(stars, alice)
    assert first.doi != second.doi
    assert set(identifiers_of(stars).exclude(doi="").values_list("doi", flat=True)) == {
        first.doi,
        second.doi,
    }


def test_readers_and_strangers_may_not_ask(stars: MLModel, bob: User) -> None:
    with pytest.raises(Forbidden):
        doi_request(actor=bob, revision=revision_get(stars))
    with pytest.raises(Unauthenticated):
        doi_request(actor=User(is_active=False), revision=revision_get(stars))


@pytest.mark.parametrize("missing", ["ACCOUNT", "PASSWORD", "PREFIX"])
def test_without_an_account_it_is_said_plainly(
    stars: MLModel, alice: User, settings: Any, missing: str
) -> None:
    setattr(settings, f"DATACITE_{missing}", "")
    with pytest.raises(Invalid, match="no account with DataCite") as refusal:
        doi_request(actor=alice, revision=revision_get(stars))
    assert refusal.value.code == "doi_not_offered"
    assert doi_claim() is None


def test_an_incomplete_record_is_refused_with_what_it_lacks(alice: User) -> None:
    bare = make_mlmodel("alice/bare", actor=alice, files={"README.md": readme("# A\n\nShort.\n")})
    with pytest.raises(Invalid, match="alice/bare cannot have a DOI yet") as refusal:
        doi_request(actor=alice, revision=revision_get(bare))
    assert refusal.value.code == "doi_incomplete"
    assert {"description", "creators", "task"} <= set(refusal.value.fields)


def test_what_is_private_gets_none_even_if_it_was_hidden_late(stars: MLModel, alice: User) -> None:
    doi_request(actor=alice, revision=revision_get(stars))
    mlmodel_update(actor=alice, mlmodel=stars, visibility="private")
    job = claimed()
    with pytest.raises(Invalid) as refusal:
        doi_begin(job_uuid=job.job_uuid, fence=job.fence)
    assert refusal.value.fields == {"visibility": "is private"}


def test_what_was_never_named_has_nothing_to_build_on(stars: MLModel, alice: User) -> None:
    doi_request(actor=alice, revision=revision_get(stars))
    Identifier.objects.all().delete()
    job = claimed()
    with pytest.raises(NotFound):
        doi_begin(job_uuid=job.job_uuid, fence=job.fence)


def test_nothing_is_told_while_nothing_changes(stars: MLModel, alice: User) -> None:
    register(stars, alice)
    assert doi_claim() is None


def test_hiding_and_showing_again_are_told(stars: MLModel, alice: User) -> None:
    made = register(stars, alice)
    mlmodel_update(actor=alice, mlmodel=stars, visibility="private")
    hidden = doi_claim()
    assert hidden is not None
    assert hidden.body["data"]["attributes"] == {"doi": made.doi, "event": "hide"}
    assert doi_told(ticket=hidden)
    mlmodel_update(actor=alice, mlmodel=stars, visibility="public")
    shown = doi_claim()
    assert shown is not None
    assert shown.body["data"]["attributes"]["event"] == "publish"


def test_a_new_name_is_told(stars: MLModel, alice: User) -> None:
    register(stars, alice)
    mlmodel_move(actor=alice, mlmodel=stars, namespace="alice", name="suns")
    told = doi_claim()
    assert told is not None
    assert "alice/suns" in str(told.body["data"]["attributes"]["titles"])


def test_a_withdrawn_version_keeps_its_doi_and_says_that_it_is_withdrawn(
    stars: MLModel, alice: User
) -> None:
    made = register(stars, alice)
    mlmodel_delete(actor=alice, mlmodel=stars, reason="Wrong labels.")
    told = doi_claim()
    assert told is not None
    attributes = told.body["data"]["attributes"]
    assert told.doi == made.doi
    assert attributes["event"] == "publish"
    assert "Withdrawn" in {date["dateType"] for date in attributes["dates"]}
    assert attributes["url"].endswith(made.identifier)


def test_what_was_hidden_and_then_deleted_stays_hidden(stars: MLModel, alice: User) -> None:
    register(stars, alice)
    mlmodel_update(actor=alice, mlmodel=stars, visibility="private")
    mlmodel_delete(actor=alice, mlmodel=stars)
    told = doi_claim()
    assert told is not None
    assert told.body["data"]["attributes"]["event"] == "hide"


@pytest.mark.parametrize("act", ["hide", "delete"])
def test_what_goes_while_datacite_is_asked_is_told_afterwards(
    stars: MLModel, alice: User, act: str
) -> None:
    doi_request(actor=alice, revision=revision_get(stars))
    job = claimed()
    ticket = doi_begin(job_uuid=job.job_uuid, fence=job.fence)
    if act == "hide":
        mlmodel_update(actor=alice, mlmodel=stars, visibility="private")
    else:
        mlmodel_delete(actor=alice, mlmodel=stars)
    doi_keep(job_uuid=job.job_uuid, ticket=ticket)
    told = doi_claim()
    assert told is not None
    assert (told.doi, row(ticket).doi) == (ticket.doi, ticket.doi)


def test_a_claim_is_held_by_one_and_found_again_after_a_crash(stars: MLModel, alice: User) -> None:
    register(stars, alice)
    mlmodel_update(actor=alice, mlmodel=stars, visibility="private")
    first = doi_claim()
    assert first is not None
    assert doi_claim() is None
    Identifier.objects.exclude(doi="").update(doi_due_at=timezone.now() - CLAIM)
    second = doi_claim()
    assert second is not None
    assert not doi_told(ticket=first)
    assert doi_told(ticket=second)
    assert doi_claim() is None


def test_a_change_while_it_is_told_is_told_as_well(stars: MLModel, alice: User) -> None:
    register(stars, alice)
    mlmodel_update(actor=alice, mlmodel=stars, visibility="private")
    first = doi_claim()
    assert first is not None
    mlmodel_update(actor=alice, mlmodel=stars, visibility="public")
    assert not doi_told(ticket=first)
    assert not doi_put_off(ticket=first)
    second = doi_claim()
    assert second is not None
    assert second.body["data"]["attributes"]["event"] == "publish"


def test_what_was_refused_waits_a_day(stars: MLModel, alice: User) -> None:
    made = register(stars, alice)
    mlmodel_update(actor=alice, mlmodel=stars, visibility="private")
    ticket = doi_claim()
    assert ticket is not None
    assert doi_put_off(ticket=ticket)
    due = row(made).doi_due_at
    assert due is not None
    assert abs(due - timezone.now() - PUT_OFF) < timedelta(minutes=1)
