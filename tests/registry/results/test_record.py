"""Benchmark records: checked, named by their content, kept for good."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from hypothesis import given, settings

from hpcfair.tickets import JobTicket
from registry import schemas
from registry.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from registry.selectors.results.record import record_get, records_of
from registry.services.results.record import record_add
from registry.states import Scope
from registry.tables import AuditEntry, Conversion, ConversionFile, Record, Target, Token, User
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor, json_values

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def ticket(floor: Floor) -> JobTicket:
    floor.tune()
    return floor.claim()


def add(floor: Floor, ticket: JobTicket, **groups: Any) -> Record:
    document = shopfloor.document(floor.revision, job=ticket.job_uuid) | groups
    return record_add(job_uuid=ticket.job_uuid, fence=ticket.fence, document=document)


def reproduction(floor: Floor, original: Record) -> dict[str, Any]:
    document = shopfloor.document(floor.revision)
    document["identity"]["kind"] = "reproduction"
    document["target"]["device"] = floor.device.name
    del document["provenance"]["job"]
    document["provenance"]["reproduces"] = original.pk
    return document


def test_a_record_is_named_by_its_content(floor: Floor, ticket: JobTicket) -> None:
    record = add(floor, ticket)
    record.refresh_from_db()
    assert record.pk == schemas.record_id(record.document) == record.document["record_id"]
    assert (record.revision, record.target) == (floor.revision, floor.target)
    assert (record.device, str(record.job.uuid)) == (floor.device, ticket.job_uuid)
    assert (record.kind, record.backend, record.tolerance) == ("headline", "onnxruntime", "exact")
    assert record.ratio == record.document["comparison"]["ratio"]
    assert record.p50_ns == round(record.document["statistics"]["candidate"]["p50_ns"])
    assert record.created_at.isoformat() == "2026-01-15T09:30:00+00:00"
    assert AuditEntry.objects.get(action="record.add").subject == record.pk


@given(json_values)
@settings(deadline=None)
def test_whatever_has_a_canonical_form_survives_the_database(value: Any) -> None:
    try:
        canonical = schemas.canonical_json(value)
    except ValueError:
        return
    target, _ = Target.objects.get_or_create(slug="paper")
    target.features = [value]
    target.save()
    target.refresh_from_db()
    assert schemas.canonical_json(target.features[0]) == canonical


def test_adding_a_record_twice_is_adding_it_once(floor: Floor, ticket: JobTicket) -> None:
    document = shopfloor.document(floor.revision, job=ticket.job_uuid)
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    first = record_add(**held, document=document)
    named = document | {"record_id": first.pk}
    assert record_add(**held, document=named) == first
    assert Record.objects.count() == AuditEntry.objects.filter(action="record.add").count() == 1


def test_a_record_without_a_comparison_is_kept(floor: Floor, ticket: JobTicket) -> None:
    document = shopfloor.document(floor.revision, job=ticket.job_uuid)
    del document["comparison"]
    record = record_add(job_uuid=ticket.job_uuid, fence=ticket.fence, document=document)
    assert (record.ratio, record.verdict) == (None, "")


def test_a_record_is_of_the_network_that_weights_were_converted_to(
    floor: Floor, ticket: JobTicket
) -> None:
    converted = shopfloor.make_blob(b"converted network")
    document = shopfloor.document(floor.revision, job=ticket.job_uuid)
    document["identity"]["model_sha256"] = converted.sha256
    arguments = {"job_uuid": ticket.job_uuid, "fence": ticket.fence, "document": document}
    with pytest.raises(Invalid):
        record_add(**arguments)
    conversion = Conversion.objects.create(revision=floor.revision, provenance={})
    ConversionFile.objects.create(conversion=conversion, path="converted/x.onnx", blob=converted)
    assert record_add(**arguments).revision == floor.revision


WRONGS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "$.record_id": lambda d: d.update(record_id="0" * 64),
    "$.identity.config_sha256": lambda d: d["identity"].update(config_sha256="0" * 64),
    "$.identity.model_sha256": lambda d: d["identity"].update(model_sha256="0" * 64),
    "$.identity.mlmodel": lambda d: d["identity"].update(mlmodel="bob/other"),
    "$.identity.revision": lambda d: d["identity"].update(revision="0" * 40),
    "$.target.slug": lambda d: d["target"].update(slug="arm64-generic"),
    "$.provenance.job": lambda d: d["provenance"].update(
        job="00000000-0000-4000-8000-000000000000"
    ),
    "$.provenance.created_at": lambda d: d["provenance"].update(created_at="2026-13-01T00:00:00Z"),
    "$.statistics.candidate.n": lambda d: d["statistics"]["candidate"].update(n=1),
    "$.statistics.baseline.min_ns": lambda d: d["statistics"]["baseline"].update(min_ns=1),
    "$.statistics.candidate.p50_ns": lambda d: d["statistics"]["candidate"].update(p50_ns=9),
    "$": lambda d: d["comparison"].update(ratio=float("nan")),
    "$.config": lambda d: d["config"].update(colour="red"),
}


@pytest.mark.parametrize("path", WRONGS)
def test_a_record_that_contradicts_itself_or_its_job_is_refused(
    floor: Floor, ticket: JobTicket, path: str
) -> None:
    document = shopfloor.document(floor.revision, job=ticket.job_uuid)
    WRONGS[path](document)
    with pytest.raises(Invalid) as caught:
        record_add(job_uuid=ticket.job_uuid, fence=ticket.fence, document=document)
    assert caught.value.code == "invalid_record"
    assert set(caught.value.fields) == {path}
    assert not Record.objects.exists()


def test_statistics_of_a_side_without_samples_are_refused(floor: Floor, ticket: JobTicket) -> None:
    document = shopfloor.document(floor.revision, job=ticket.job_uuid)
    del document["comparison"]
    for block in document["samples"]["blocks"]:
        del block["baseline_ns"]
    with pytest.raises(Invalid) as caught:
        record_add(job_uuid=ticket.job_uuid, fence=ticket.fence, document=document)
    assert caught.value.fields == {"$.statistics.baseline": "has no samples"}


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    "document", [{}, {"schema": "hpcfair.bench/1"}, {"\0": 1}, {"x": nested(10_000)}]
)
def test_what_is_no_record_at_all_is_refused(floor: Floor, document: Any) -> None:
    with pytest.raises(Invalid) as caught:
        record_add(document=document, actor=floor.alice)
    assert caught.value.code == "invalid_record"


def test_a_person_adds_a_reproduction(floor: Floor, ticket: JobTicket) -> None:
    original = add(floor, ticket)
    bob = User.objects.create(username="bob")
    record = record_add(document=reproduction(floor, original), actor=bob)
    assert (record.kind, record.job, record.device) == ("reproduction", None, None)
    assert AuditEntry.objects.filter(action="record.add", actor=bob).count() == 1
    assert record_add(document=reproduction(floor, original), actor=bob) == record


def test_nobody_adds_no_record(floor: Floor, ticket: JobTicket) -> None:
    document = reproduction(floor, add(floor, ticket))
    for actor in (None, AnonymousUser()):
        with pytest.raises(Unauthenticated):
            record_add(document=document, actor=actor)


def test_a_token_that_only_reads_adds_no_record(floor: Floor, ticket: JobTicket) -> None:
    document = reproduction(floor, add(floor, ticket))
    floor.alice.token = Token(user=floor.alice, scope=Scope.READ)
    with pytest.raises(Forbidden):
        record_add(document=document, actor=floor.alice)


def test_a_person_adds_no_other_kind(floor: Floor, ticket: JobTicket) -> None:
    add(floor, ticket)
    with pytest.raises(Invalid) as caught:
        record_add(document=shopfloor.document(floor.revision), actor=floor.alice)
    assert set(caught.value.fields) == {"$.identity.kind"}


def test_a_reproduction_is_of_a_record_one_can_read(floor: Floor, ticket: JobTicket) -> None:
    original = add(floor, ticket)
    document = reproduction(floor, original)
    other = shopfloor.floor("bob/other")
    for about in (
        document | {"provenance": document["provenance"] | {"reproduces": "0" * 64}},
        reproduction(other, original),
    ):
        with pytest.raises(Invalid):
            record_add(document=about, actor=other.alice)
    floor.revision.mlmodel.visibility = "private"
    floor.revision.mlmodel.save()
    with pytest.raises(Invalid) as caught:
        record_add(document=document, actor=other.alice)
    assert set(caught.value.fields) == {"$.provenance.reproduces"}


def test_a_reproduction_may_come_from_another_kind_of_machine(
    floor: Floor, ticket: JobTicket
) -> None:
    document = reproduction(floor, add(floor, ticket))
    document["target"]["slug"] = "arm64-generic"
    with pytest.raises(NotFound):
        record_add(document=document, actor=floor.alice)
    other, _ = shopfloor.make_machine("arm64-generic", name="phone")
    assert record_add(document=document, actor=floor.alice).target == other


def test_a_stale_fence_adds_nothing(floor: Floor, ticket: JobTicket) -> None:
    document = shopfloor.document(floor.revision, job=ticket.job_uuid)
    with pytest.raises(Conflict):
        record_add(job_uuid=ticket.job_uuid, fence=ticket.fence + 1, document=document)
    with pytest.raises(Unauthenticated):
        record_add(job_uuid=ticket.job_uuid, document=document)


def test_records_are_seen_by_those_who_may_read_the_model(floor: Floor, ticket: JobTicket) -> None:
    record = add(floor, ticket)
    hidden_floor = shopfloor.floor("bob/secret", private=True)
    hidden_floor.tune()
    hidden = add(hidden_floor, hidden_floor.claim())
    assert list(records_of(AnonymousUser())) == [record]
    assert set(records_of(hidden_floor.alice)) == {record, hidden}
    assert list(records_of(None, mlmodel="bob/secret")) == [hidden]
    assert list(records_of(None, revision_oid=floor.revision.oid)) == [record]
    assert not records_of(None, target="arm64-generic")
    with pytest.raises(NotFound):
        records_of(AnonymousUser(), mlmodel="bob/secret")
    assert record_get(AnonymousUser(), record.pk) == record
    for record_id in (hidden.pk, "nonsense", "\0"):
        with pytest.raises(NotFound):
            record_get(AnonymousUser(), record_id)
