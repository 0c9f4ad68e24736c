"""Artefacts: published by the job that made them, withdrawn by the next."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from hpcfair.tickets import JobTicket
from registry import schemas
from registry.errors import Conflict, Invalid, NotFound
from registry.selectors.results.build import build_file_get, build_get, builds_of
from registry.services.repository.mlmodel import mlmodel_delete
from registry.services.results.build import builds_add, builds_publish
from registry.services.results.record import record_add
from registry.services.work.attempt import job_heartbeat, job_succeed
from registry.tables import AuditEntry, Build, Job, OutboxEntry, Record
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


def ticket_of(floor: Floor) -> JobTicket:
    floor.tune()
    return floor.claim()


def measured(floor: Floor, ticket: JobTicket, threads: str, **columns: Any) -> dict[str, Any]:
    """A build of its own record."""
    record = record_add(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        document=shopfloor.document(floor.revision, threads, job=ticket.job_uuid),
    )
    return shopfloor.build(record.pk, threads, **columns)


def results(floor: Floor, ticket: JobTicket) -> list[dict[str, Any]]:
    """A baseline and a faster build."""
    baseline = measured(floor, ticket, "all", is_baseline=True, ratio=1.0, verdict="same")
    return [baseline, measured(floor, ticket, "half")]


def publish(ticket: JobTicket, builds: list[dict[str, Any]]) -> list[Build]:
    return builds_publish(job_uuid=ticket.job_uuid, fence=ticket.fence, builds=builds)


def test_published_builds_carry_their_files_and_records(floor: Floor) -> None:
    ticket = ticket_of(floor)
    OutboxEntry.objects.all().delete()
    publish(ticket, results(floor, ticket))
    faster, baseline = builds_of(floor.revision)
    assert (faster.ratio, baseline.is_baseline) == (0.8, True)
    assert faster.record.document["config"]["options"] == {"threads": "half"}
    assert {file.path: file.blob_id for file in faster.files.all()} == shopfloor.artefact("half")
    assert (faster.graph, faster.target) == (floor.graph, floor.target)
    assert OutboxEntry.objects.get().mlmodel_uuid == floor.revision.mlmodel.uuid
    assert AuditEntry.objects.get(action="build.publish").namespace == "alice"


def test_a_newer_search_withdraws_what_was_there(floor: Floor) -> None:
    first = ticket_of(floor)
    old = publish(first, results(floor, first))
    job_succeed(job_uuid=first.job_uuid, fence=first.fence, result={})
    second = ticket_of(floor)
    new = publish(second, results(floor, second)[:1])
    assert list(builds_of(floor.revision)) == new
    withdrawn = build_get(None, str(old[1].uuid))
    assert withdrawn.withdrawn_at is not None
    assert withdrawn.files.count() == 1


def test_a_search_without_conclusion_withdraws_nothing_that_was_proved(floor: Floor) -> None:
    first = ticket_of(floor)
    old = publish(first, results(floor, first))[1]
    job_succeed(job_uuid=first.job_uuid, fence=first.fence, result={})
    second = ticket_of(floor)
    handle = {"job_uuid": second.job_uuid, "fence": second.fence}
    new = [measured(floor, second, "all", is_baseline=True, ratio=1.0, verdict="same")]
    for _ in range(2):
        (baseline,) = builds_publish(**handle, builds=new, undecided=["exact"])  # type: ignore[arg-type]
        assert list(builds_of(floor.revision)) == [old, baseline]
    builds = builds_publish(**handle, builds=new, undecided=["int8"])  # type: ignore[arg-type]
    assert list(builds_of(floor.revision)) == builds


def test_a_search_withdraws_the_configurations_that_it_decided_about(floor: Floor) -> None:
    first = ticket_of(floor)
    old = publish(first, results(floor, first))[1]
    job_succeed(job_uuid=first.job_uuid, fence=first.fence, result={})
    second = ticket_of(floor)
    new = [measured(floor, second, "all", is_baseline=True, ratio=1.0, verdict="same")]
    (baseline,) = builds_publish(
        job_uuid=second.job_uuid,
        fence=second.fence,
        builds=new,
        undecided=["exact"],
        decided=[old.config_sha256],
    )
    assert list(builds_of(floor.revision)) == [baseline]


def test_what_a_search_shows_while_it_runs_ends_with_it(floor: Floor) -> None:
    ticket = ticket_of(floor)
    publish(ticket, results(floor, ticket))
    new = [measured(floor, ticket, "all", is_baseline=True, ratio=1.0, verdict="same")]
    handle = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    builds = builds_publish(**handle, builds=new, undecided=["exact"])  # type: ignore[arg-type]
    assert list(builds_of(floor.revision)) == builds


def test_builds_for_another_target_stay(floor: Floor) -> None:
    ticket = ticket_of(floor)
    kept = publish(ticket, results(floor, ticket))
    Build.objects.update(target=shopfloor.make_machine("x86-64-avx2", name="laptop")[0])
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
    again = ticket_of(floor)
    new = publish(again, results(floor, again))
    assert set(builds_of(floor.revision)) == {*kept, *new}
    assert set(builds_of(floor.revision, floor.target)) == set(new)


def test_builds_of_a_repetition_join_those_that_are_published(floor: Floor) -> None:
    first = ticket_of(floor)
    kept = publish(first, results(floor, first))
    job_succeed(job_uuid=first.job_uuid, fence=first.fence, result={})
    second = ticket_of(floor)
    held = {"job_uuid": second.job_uuid, "fence": second.fence}
    found = [measured(floor, second, "two"), measured(floor, second, "half")]
    added = builds_add(**held, builds=found)
    # The repeated configuration replaces its earlier build; the baseline stays.
    assert set(builds_of(floor.revision)) == {kept[0], *added}
    assert builds_add(**held, builds=found) == []
    assert builds_add(**held, builds=[]) == []
    with pytest.raises(Invalid):
        builds_add(**held, builds=[{**found[0], "is_baseline": True}])


def test_publishing_twice_is_publishing_once(floor: Floor) -> None:
    ticket = ticket_of(floor)
    found = results(floor, ticket)
    OutboxEntry.objects.all().delete()
    assert publish(ticket, found) == publish(ticket, found)
    assert Build.objects.count() == 2
    assert OutboxEntry.objects.count() == 1


def test_a_lost_lease_publishes_nothing(floor: Floor) -> None:
    ticket = ticket_of(floor)
    found = results(floor, ticket)
    with pytest.raises(Conflict):
        builds_publish(job_uuid=ticket.job_uuid, fence=ticket.fence + 1, builds=found)
    assert not Build.objects.exists()


def test_builds_of_an_unknown_network_are_not_published(floor: Floor) -> None:
    ticket = ticket_of(floor)
    found = results(floor, ticket)
    floor.graph.delete()
    with pytest.raises(NotFound) as caught:
        publish(ticket, found)
    assert caught.value.code == "graph_not_found"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"colour": "red"}, "1.colour"),
        ({"tolerance": "fp4"}, "1.tolerance"),
        ({"verdict": "better"}, "1.verdict"),
        ({"entry_point": "other.ort"}, "1.entry_point"),
        ({"is_baseline": True}, "is_baseline"),
        ({"config_sha256": schemas.sha256_of(shopfloor.candidate())}, "config_sha256"),
    ],
)
def test_odd_builds_are_refused(floor: Floor, wrong: dict[str, Any], field: str) -> None:
    ticket = ticket_of(floor)
    baseline, faster = results(floor, ticket)
    with pytest.raises(Invalid) as caught:
        publish(ticket, [baseline, faster | wrong])
    assert set(caught.value.fields) == {field}
    assert not Build.objects.exists()


def test_a_build_names_what_it_lacks_and_none_is_no_result(floor: Floor) -> None:
    ticket = ticket_of(floor)
    with pytest.raises(Invalid) as caught:
        publish(ticket, [{"ratio": 1.0}])
    assert caught.value.fields["0.files"] == "is missing"
    with pytest.raises(Invalid):
        publish(ticket, [])


@pytest.mark.parametrize("path", ["../model.ort", "/model.ort", "a\0b", ".git/config"])
def test_a_file_outside_the_build_is_refused(floor: Floor, path: str) -> None:
    ticket = ticket_of(floor)
    baseline, faster = results(floor, ticket)
    odd = {"files": dict.fromkeys([path], "0" * 64), "entry_point": path}
    with pytest.raises(Invalid):
        publish(ticket, [baseline, faster | odd])


def test_a_build_is_of_the_artefact_that_was_measured(floor: Floor) -> None:
    ticket = ticket_of(floor)
    baseline, faster = results(floor, ticket)
    missing = {"model.ort": "0" * 64}
    for wrong, fault in [
        ({"record_id": "0" * 64}, "is not stored"),
        ({"record_id": baseline["record_id"]}, "is of another configuration"),
        ({"files": shopfloor.artefact("one")}, "is of an artefact of other files"),
        ({"files": missing}, "is of an artefact of other files"),
    ]:
        with pytest.raises(Invalid) as caught:
            publish(ticket, [baseline, faster | wrong])
        assert caught.value.code == "invalid_record"
        assert list(caught.value.fields.values()) == [fault]


def test_a_record_of_another_model_vouches_for_nothing(floor: Floor) -> None:
    ticket = ticket_of(floor)
    baseline, _ = results(floor, ticket)
    other = shopfloor.floor("bob/other")
    other_ticket = ticket_of(other)
    foreign = measured(other, other_ticket, "half")
    with pytest.raises(Invalid) as caught:
        publish(ticket, [baseline, foreign])
    assert list(caught.value.fields.values()) == ["is of another revision or target"]


def test_a_file_whose_bytes_are_not_stored_is_refused(floor: Floor) -> None:
    ticket = ticket_of(floor)
    baseline, _ = results(floor, ticket)
    document = shopfloor.document(floor.revision, "half", job=ticket.job_uuid)
    files = {"model.ort": "0" * 64}
    document["identity"]["artifact_sha256"] = schemas.artifact_sha256(files)
    record = record_add(job_uuid=ticket.job_uuid, fence=ticket.fence, document=document)
    with pytest.raises(Invalid) as caught:
        publish(ticket, [baseline, shopfloor.build(record.pk, "half", files=files)])
    assert caught.value.code == "blob_missing"


def test_a_model_goes_with_its_jobs_records_and_builds(floor: Floor) -> None:
    ticket = ticket_of(floor)
    publish(ticket, results(floor, ticket))
    mlmodel_delete(actor=floor.alice, mlmodel=floor.revision.mlmodel)
    assert not any(table.objects.exists() for table in (Job, Record, Build))
    with pytest.raises(Conflict) as caught:
        job_heartbeat(job_uuid=ticket.job_uuid, fence=ticket.fence)
    assert caught.value.code == "lease_lost"


def test_builds_are_seen_by_those_who_may_read_the_model() -> None:
    floor = shopfloor.floor("alice/secret", private=True)
    ticket = ticket_of(floor)
    build, _ = publish(ticket, results(floor, ticket))
    assert build_get(floor.alice, str(build.uuid)) == build
    for uuid in (str(build.uuid), "nonsense"):
        with pytest.raises(NotFound):
            build_get(AnonymousUser(), uuid)


def test_a_file_of_a_build_is_found_by_its_path(floor: Floor) -> None:
    ticket = ticket_of(floor)
    build, _ = publish(ticket, results(floor, ticket))
    assert build_file_get(build, "model.ort").blob_id == shopfloor.artefact("all")["model.ort"]
    for path in ("other", "\0", "../model.ort"):
        with pytest.raises(NotFound):
            build_file_get(build, path)
