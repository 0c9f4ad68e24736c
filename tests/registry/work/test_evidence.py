"""Results of devices must be possible, belong to their job, and name only files that they sent."""

import copy
from typing import Any

import pytest

from hpcfair.tickets import JobTicket
from registry import schemas
from registry.errors import Invalid
from registry.services.work.operations import job_read
from registry.states import JobKind
from registry.tables import Build, Job, JobBlob, Record, TestTensor, Trial
from tests.registry import shopfloor
from tests.registry.agents import Machine, machine, record_of
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def agent(floor: Floor) -> Machine:
    return machine(floor.target)


@pytest.fixture
def ticket(floor: Floor, agent: Machine) -> JobTicket:
    floor.tune()
    return agent.claim()


def refused(agent: Machine, ticket: JobTicket, name: str, **columns: Any) -> Invalid:
    with pytest.raises(Invalid) as error:
        agent.write(ticket, name, 1, **columns)
    return error.value


def sent(ticket: JobTicket, *contents: bytes) -> None:
    job = Job.objects.get(uuid=ticket.job_uuid)
    for content in contents:
        JobBlob.objects.create(job=job, blob=shopfloor.make_blob(content))


def columns_of(floor: Floor, agent: Machine, ticket: JobTicket, **changes: Any) -> dict[str, Any]:
    """The columns of ``builds_publish`` for a build whose record is stored."""
    document = record_of(floor.revision, ticket)
    record_id = agent.write(ticket, "record_add", 1, document=document)["record_id"]
    figures = {
        "ratio": document["comparison"]["ratio"],
        "tolerance": document["config"]["tolerance"],
        "p50_ns": round(document["statistics"]["candidate"]["p50_ns"]),
    }
    if changes.get("is_baseline"):
        figures |= {"ratio": 1.0, "verdict": "same"}
    return {"builds": [shopfloor.build(record_id, **figures | changes)]}


def refused_second(agent: Machine, ticket: JobTicket, columns: dict[str, Any]) -> Invalid:
    with pytest.raises(Invalid) as error:
        agent.write(ticket, "builds_publish", 2, **columns)
    return error.value


def test_a_possible_trial_and_record_are_stored(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    agent.write(ticket, "trial_add", 1, trial=shopfloor.trial())
    agent.write(ticket, "record_add", 2, document=record_of(floor.revision, ticket))
    assert Trial.objects.get().job.device == agent.device
    assert Record.objects.get().device == agent.device


@pytest.mark.parametrize(
    "columns",
    [
        {"duration_s": 86_400.0},
        {"ratio_low": 2.0, "ratio_high": 3.0},
        {"ratio": None},
        {"config_sha256": "0" * 64},
    ],
)
def test_an_impossible_trial_is_refused(
    agent: Machine, ticket: JobTicket, columns: dict[str, Any]
) -> None:
    error = refused(agent, ticket, "trial_add", trial=shopfloor.trial(**columns))
    assert error.code == "impossible_result"
    assert not Trial.objects.exists()


def test_trials_of_another_network_do_not_enter_a_search(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    # The device claims that its trial is one of another network, by the key of that.
    agent.write(ticket, "trial_add", 1, trial=shopfloor.trial(ratio=0.001))
    other = shopfloor.floor("bob/other")
    type(other.graph).objects.filter(pk=other.graph.pk).update(graph_hash="f" * 64)
    other.tune()
    theirs = floor.claim()
    held: dict[str, Any] = {"job_uuid": theirs.job_uuid, "fence": theirs.fence}
    assert job_read(**held, name="history", parameters={"search_key": "b" * 64}) == []
    # Nor does it make the results of an honest device impossible.
    honest = machine(floor.target, "agent-2")
    honest.write(theirs, "trial_add", 1, trial=shopfloor.trial())


@pytest.mark.parametrize("created_at", ["1970-01-01T00:00:00Z", "2200-01-01T00:00:00Z"])
def test_a_record_of_another_century_is_refused(
    floor: Floor, agent: Machine, ticket: JobTicket, created_at: str
) -> None:
    document = record_of(floor.revision, ticket, created_at)
    error = refused(agent, ticket, "record_add", document=document)
    assert "$.provenance.created_at" in error.fields
    assert not Record.objects.exists()


def test_a_record_of_another_machine_is_refused(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    document = record_of(floor.revision, ticket)
    document["target"]["device"] = floor.device.name
    del document["record_id"]
    assert "$.target.device" in refused(agent, ticket, "record_add", document=document).fields


def test_a_malformed_record_is_refused_with_the_reason(agent: Machine, ticket: JobTicket) -> None:
    assert refused(agent, ticket, "record_add", document={"schema": 1}).code == "invalid_record"


def test_builds_may_name_only_bytes_that_were_sent(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    columns = columns_of(floor, agent, ticket, is_baseline=True)
    error = refused_second(agent, ticket, columns)
    assert error.code == "blob_missing"
    sent(ticket, b"artefact with all threads")
    agent.write(ticket, "builds_publish", 3, **columns)
    assert Build.objects.count() == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"ratio": 0.1},
        {"verdict": "same"},
        {"tolerance": "int8"},
        {"p50_ns": 3},
        {"is_baseline": True},
        {"candidate": {"backend": "onnxruntime", "options": {"threads": "1"}}},
    ],
)
def test_builds_have_the_figures_of_their_records(
    floor: Floor, agent: Machine, ticket: JobTicket, changes: dict[str, Any]
) -> None:
    columns = columns_of(floor, agent, ticket)
    sent(ticket, b"artefact with all threads")
    lie = copy.deepcopy(columns)
    lie["builds"][0] |= changes
    assert refused_second(agent, ticket, lie).code == "impossible_result"
    assert not Build.objects.exists()


@pytest.mark.parametrize("path", ["../escape.ort", "/etc/passwd", "a/../../b", "C:\\x", "a\0b"])
def test_builds_with_paths_that_lead_outside_are_refused(
    floor: Floor, agent: Machine, ticket: JobTicket, path: str
) -> None:
    columns = columns_of(floor, agent, ticket, is_baseline=True)
    build = columns["builds"][0]
    digest = build["files"].pop("model.ort")
    build |= {"files": {path: digest}, "entry_point": path}
    sent(ticket, b"artefact with all threads")
    codes = {"invalid_path", "invalid_record", "invalid_request"}
    assert refused_second(agent, ticket, columns).code in codes
    assert not Build.objects.exists()


def test_a_private_file_of_another_model_cannot_be_named_as_a_tensor(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    secret = shopfloor.make_revision("bob/secret", private=True).files.get(path="model.onnx")
    tensor = {
        "number": 0,
        "side": "output",
        "index": 0,
        "name": "y",
        "sha256": secret.blob_id,
        "is_made": True,
    }
    assert refused(agent, ticket, "tests_store", tensors=[tensor]).code == "blob_missing"
    assert not TestTensor.objects.exists()
    own = floor.revision.files.get(path="model.onnx").blob_id
    agent.write(ticket, "tests_store", 2, tensors=[tensor | {"sha256": own}])


def test_pass_trials_are_of_the_jobs_network(floor: Floor, agent: Machine) -> None:
    floor.tune()
    ticket = agent.claim(JobKind.TUNE)
    trial = {
        "backend": "tvm",
        "toolchain": "apache-tvm 0.27.0",
        "architecture_class": "transformer",
        "graph_hash": "c" * 64,
        "number": 1,
        "role": "final",
        "passes": "default",
        "outcome": "measured",
    }
    error = refused(agent, ticket, "pass_trial_add", trial=trial)
    assert set(error.fields) == {"graph_hash", "architecture_class"}
    columns = {"backend": "tvm", "toolchain": "x", "networks": 1, "lists": []}
    lie = columns | {"architecture_class": "transformer"}
    assert refused(agent, ticket, "portfolio_store", **lie).code == "impossible_result"


def test_times_of_calls_fit_into_the_attempt(agent: Machine, ticket: JobTicket) -> None:
    columns = {
        "key": "e" * 64,
        "toolchain": "apache-tvm 0.27.0",
        "digest": "d" * 64,
        "seconds": [1e6],
        "trace": None,
    }
    assert refused(agent, ticket, "schedule_confirm", **columns).code == "impossible_result"


def test_the_digest_of_a_record_is_checked_as_before(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    document = record_of(floor.revision, ticket) | {"record_id": "0" * 64}
    assert refused(agent, ticket, "record_add", document=document).code == "invalid_record"
    document["record_id"] = schemas.record_id(document)
    agent.write(ticket, "record_add", 2, document=document)
