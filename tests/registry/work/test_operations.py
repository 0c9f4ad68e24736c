"""Reads and writes of devices: closed schemas, the fence, and numbered writes."""

import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from hpcfair.tickets import BuildTicket, JobTicket, TensorTicket
from registry.errors import Conflict, Invalid
from registry.schemas.operations import READS, WRITES
from registry.services.results.record import record_add
from registry.services.work.attempt import job_release, job_succeed
from registry.services.work.flow import run_limit_s
from registry.services.work.job import job_submit
from registry.services.work.jobwrite import writes_prune
from registry.services.work.operations import UNNUMBERED, job_read, job_write
from registry.states import JobKind, JobState
from registry.tables import Build, Job, JobEvent, JobWrite, ScheduleTask, TestTensor, Trial
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db

_TASK = {
    "key": "e" * 64,
    "toolchain": "apache-tvm 0.27.0",
    "name": "fused_conv2d",
    "anchor": "conv2d",
    "arguments": [["float32", 1, 3]],
    "flops": 1e6,
    "features": [1.0, 2.5],
}


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def ticket(floor: Floor) -> JobTicket:
    floor.tune()
    return floor.claim()


def write(ticket: JobTicket, name: str, number: int | None = None, **columns: Any) -> Any:
    return job_write(
        job_uuid=ticket.job_uuid, fence=ticket.fence, name=name, columns=columns, number=number
    )


def read(ticket: JobTicket, name: str, **parameters: Any) -> Any:
    return job_read(job_uuid=ticket.job_uuid, fence=ticket.fence, name=name, parameters=parameters)


def notes(ticket: JobTicket) -> int:
    return JobEvent.objects.filter(job__uuid=ticket.job_uuid, message="hello").count()


def test_written_values_are_read_as_json(ticket: JobTicket) -> None:
    trial = shopfloor.trial(measurement={"blocks": ({"process": 0},)})
    assert write(ticket, "trial_add", trial=trial) == {}
    (stored,) = read(ticket, "trials_of_job")
    assert stored["measurement"] == {"blocks": [{"process": 0}]}
    assert json.loads(json.dumps(stored)) == stored


#: Reads of jobs that need a subject: tested in test_run.py and in tests/registry/analysis.
_WITH_SUBJECT = {"run_of_job", "workload_of_job", "foreign_schedules_of_job"}


@pytest.mark.parametrize("name", sorted(READS.keys() - _WITH_SUBJECT))
def test_every_read_answers_a_job_without_anything(floor: Floor, name: str) -> None:
    floor.tune()
    ticket = floor.claim()
    values: dict[str, Any] = {
        "search_key": "b" * 64,
        "key": "e" * 64,
        "anchors": [],
        "graph_hash": "a" * 64,
        "toolchain": "apache-tvm 0.27.0",
        "architecture_class": "plain-cnn",
        "backend": "tvm",
        "toolchains": {"tvm": "apache-tvm 0.27.0"},
    }
    parameters = {key: values[key] for key in READS[name]["required"]}
    empty: tuple[Any, ...] = ([], {}, False)
    assert read(ticket, name, **parameters) in empty


def test_a_read_names_no_other_target(ticket: JobTicket) -> None:
    with pytest.raises(Invalid) as refused:
        read(ticket, "history", search_key="b" * 64, target="other")
    assert "target" in str(refused.value.fields)


def test_builds_and_tensors_are_tickets(floor: Floor) -> None:
    floor.tune()
    ticket = floor.claim()
    record = record_add(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        document=shopfloor.document(floor.revision, job=ticket.job_uuid),
    )
    reply = write(
        ticket, "builds_publish", builds=[shopfloor.build(record.pk, is_baseline=True, ratio=1.0)]
    )
    (build,) = read(ticket, "builds_of_job")
    assert reply == {"builds": [BuildTicket.from_json(build).uuid]}
    blob = shopfloor.make_blob(b"tensor")
    tensor = {"number": 0, "side": "output", "index": 0, "name": "y", "sha256": blob.pk}
    (stored,) = write(ticket, "tests_store", tensors=[{**tensor, "is_made": True}])
    assert TensorTicket.from_json(stored).name == "y"
    assert TestTensor.objects.count() == 1


def test_the_source_of_a_workload_travels_as_base64(ticket: JobTicket, data_dir: Any) -> None:
    source = base64.b64encode(b"primfunc").decode()
    write(ticket, "schedule_task_add", task=_TASK, source=source, calls=2)
    assert ScheduleTask.objects.get().source.size_bytes == len(b"primfunc")
    with pytest.raises(Invalid):
        write(ticket, "schedule_task_add", task=_TASK, source="not base64!", calls=2)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("trial_add", {"trial": shopfloor.trial(ratio=float("nan"))}),
        ("trial_add", {"trial": shopfloor.trial(ratio=float("inf"))}),
        ("trial_add", {"trial": shopfloor.trial(ratio=-1.0)}),
        ("trial_add", {"trial": shopfloor.trial(p50_ns=0)}),
        ("trial_add", {"trial": shopfloor.trial(p50_ns=2**70)}),
        ("trial_add", {"trial": shopfloor.trial(duration_s=1e30)}),
        ("trial_add", {"trial": shopfloor.trial(accuracy=1.5)}),
        ("trial_add", {"trial": shopfloor.trial(number=-1)}),
        ("trial_add", {"trial": shopfloor.trial(job=7)}),
        ("trial_add", {"trial": shopfloor.trial(config_sha256="A" * 64)}),
        ("trial_add", {"trial": shopfloor.trial(config_sha256="a" * 64 + "\n")}),
        ("trial_add", {"trial": shopfloor.trial(predicted_ratio=10**400)}),
        ("trial_add", {"trial": shopfloor.trial(measurement={"blocks": [5]})}),
        ("trial_add", {"trial": shopfloor.trial(measurement={"blocks": "all"})}),
        ("trial_add", {"trial": shopfloor.trial(measurement={"blocks": [{"candidate_ns": [0]}]})}),
        ("trial_add", {"trial": shopfloor.trial(measurement={"blocks": [{"baseline_ns": 7}]})}),
        ("trial_add", {"trial": shopfloor.trial(), "job_uuid": "x"}),
        ("note", {"message": "x" * 10_001}),
        ("progress", {"phase": "search", "done": -1, "total": None, "message": ""}),
        ("portfolio_store", {"backend": "tvm"}),
        ("plan_follow_up", {"priority": 0}),
        ("job_delete", {}),
        ("trials_of_job", {}),
    ],
)
def test_operations_that_violate_their_schema_are_refused(
    ticket: JobTicket, name: str, columns: dict[str, Any]
) -> None:
    with pytest.raises(Invalid) as refused:
        write(ticket, name, 1, **columns)
    assert refused.value.code == "invalid_request"
    assert not Trial.objects.exists()
    assert not JobWrite.objects.exists()


def test_a_repeated_number_writes_once_and_gets_the_first_reply(ticket: JobTicket) -> None:
    first = write(ticket, "note", 1, message="hello")
    assert write(ticket, "note", 1, message="hello") == first
    assert notes(ticket) == 1
    write(ticket, "note", 2, message="hello")
    assert notes(ticket) == 2


def test_another_write_under_a_used_number_is_refused(ticket: JobTicket) -> None:
    write(ticket, "note", 1, message="hello")
    for name, columns in (("note", {"message": "other"}), ("yield", {})):
        with pytest.raises(Conflict) as refused:
            write(ticket, name, 1, **columns)
        assert refused.value.code == "write_differs"
    assert Job.objects.get().state == JobState.LEASED


def test_a_repetition_after_the_end_is_answered_and_changes_nothing(ticket: JobTicket) -> None:
    write(ticket, "note", 1, message="hello")
    write(ticket, "yield", 2)
    assert Job.objects.get().yields == 1
    assert write(ticket, "yield", 2) == {}
    assert write(ticket, "note", 1, message="hello") == {}
    assert (notes(ticket), Job.objects.get().yields) == (1, 1)
    with pytest.raises(Conflict) as refused:
        write(ticket, "note", 3, message="hello")
    assert refused.value.code == "lease_lost"


def test_a_refused_write_leaves_its_number_free(ticket: JobTicket) -> None:
    with pytest.raises(Invalid):
        write(ticket, "trial_add", 1, trial=shopfloor.trial(ratio=0))
    write(ticket, "trial_add", 1, trial=shopfloor.trial())
    assert Trial.objects.count() == 1


def test_numbers_belong_to_a_claim(floor: Floor) -> None:
    floor.tune()
    first = floor.claim()
    write(first, "note", 1, message="hello")
    job_release(job_uuid=first.job_uuid, fence=first.fence)
    second = floor.claim()
    write(second, "note", 1, message="hello")
    assert notes(second) == 2


@pytest.mark.parametrize("fence", [0, 2, 99])
def test_a_wrong_fence_reads_and_writes_nothing(ticket: JobTicket, fence: int) -> None:
    for number in (None, 1):
        with pytest.raises(Conflict) as refused:
            job_write(
                job_uuid=ticket.job_uuid,
                fence=fence,
                name="note",
                columns={"message": "hello"},
                number=number,
            )
        assert refused.value.code == "lease_lost"
    with pytest.raises(Conflict):
        job_read(job_uuid=ticket.job_uuid, fence=fence, name="trials_of_job", parameters={})
    assert notes(ticket) == 0


def test_a_read_ends_with_the_claim(ticket: JobTicket) -> None:
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "done"})
    with pytest.raises(Conflict):
        read(ticket, "trials_of_job")


def test_progress_needs_no_number_and_stores_none(ticket: JobTicket) -> None:
    columns: dict[str, Any] = {"phase": "search", "done": 1, "total": 4, "message": "at work"}
    assert set(UNNUMBERED) <= set(WRITES)
    write(ticket, "progress", 1, **columns)
    write(ticket, "progress", 1, **columns | {"done": 2})
    assert Job.objects.get().progress["done"] == 2
    assert not JobWrite.objects.exists()


def test_execution_begins_after_the_files_are_copied(ticket: JobTicket) -> None:
    columns: dict[str, Any] = {"done": 0, "total": None, "message": ""}
    write(ticket, "progress", phase="fetch", **columns)
    assert Job.objects.get().running_since is None
    write(ticket, "progress", phase="reference", **columns)
    began = Job.objects.get().running_since
    write(ticket, "progress", phase="search", **columns)
    assert began is not None
    assert Job.objects.get().running_since == began


def test_only_a_search_has_a_candidate(ticket: JobTicket) -> None:
    columns: dict[str, Any] = {"done": 0, "total": None, "message": ""}
    write(ticket, "progress", phase="search", **columns)
    write(ticket, "candidate_begin", config_sha256="c" * 64)
    write(ticket, "progress", phase="search", **columns | {"done": 1})
    assert Job.objects.get().candidate == "c" * 64
    write(ticket, "progress", phase="confirmation", **columns)
    assert Job.objects.get().candidate == ""


def test_a_job_that_yields_does_not_expect_more_than_a_run_may_take(floor: Floor) -> None:
    floor.tune(parameters={"budget_s": 60})
    for estimate_s, stored in ((300.0, 300.0), (1e7, run_limit_s(60.0))):
        write(floor.claim(), "yield", estimate_s=estimate_s)
        assert Job.objects.get().estimate_s == stored


def test_a_sketch_without_a_digest_is_refused(ticket: JobTicket, data_dir: Any) -> None:
    source = base64.b64encode(b"primfunc").decode()
    write(ticket, "schedule_task_add", task=_TASK, source=source, calls=2)
    trial = {
        "key": _TASK["key"],
        "toolchain": _TASK["toolchain"],
        "number": 1,
        "sketch": [1e17],
        "decisions": [],
        "digest": "d" * 64,
        "proposed_by": "evolutionary",
        "outcome": "measured",
        "seconds": [0.001],
        "duration_s": 1.0,
    }
    with pytest.raises(Invalid) as refused:
        write(ticket, "schedule_trial_add", trial=trial)
    assert set(refused.value.fields) == {"sketch"}
    write(ticket, "schedule_trial_add", trial=trial | {"sketch": [1.5]})


def test_writes_of_ended_attempts_are_deleted_after_a_week(floor: Floor) -> None:
    floor.tune()
    ended = floor.claim()
    write(ended, "note", 1, message="hello")
    job_release(job_uuid=ended.job_uuid, fence=ended.fence)
    running = floor.claim()
    write(running, "note", 1, message="hello")
    assert writes_prune() == 0
    JobWrite.objects.update(at=timezone.now() - timedelta(days=8))
    assert writes_prune() == 1
    assert JobWrite.objects.get().attempt.fence == running.fence


def test_a_job_of_the_hub_writes_without_a_target(floor: Floor) -> None:
    job_submit(actor=None, kind=JobKind.INSPECT, revision=floor.revision)
    ticket = shopfloor.claim_inspect()
    write(ticket, "note", message="hello")
    assert read(ticket, "tests_of_job") == []
    assert notes(ticket) == 1
    assert not Build.objects.exists()
