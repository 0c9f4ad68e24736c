"""Exports of job bundles."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from hpcfair.bundle import JOBS_TYPE, NO_SEARCH_KEY
from hpcfair.bundlefile import BundleFile
from hpcfair.tickets import JobTicket
from hpcfair.trust.envelope import open_envelope
from hpcfair.trust.keylist import read_list
from registry.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated, Unavailable
from registry.selectors.storage.blob import blob_open, blobs_unreferenced
from registry.selectors.work.bundle import bundle_get, bundles
from registry.services.analysis.ablation import ablation_submit
from registry.services.analysis.crossapplication import cross_submit
from registry.services.results.trial import trial_add
from registry.services.storage.gc import gc
from registry.services.trust.key import current_key
from registry.services.work.bundle import bundle_cancel, bundle_export
from registry.services.work.job import job_submit
from registry.services.work.operations import job_read, job_write
from registry.services.work.reaper import job_reap
from registry.states import BundleState, DeviceState, JobKind, JobState
from registry.tables import (
    AuditEntry,
    Blob,
    Device,
    Job,
    JobBundle,
    Principle,
    PrincipleStatus,
    RoofSet,
    ScheduleTrial,
    Target,
    User,
)
from tests.bundles import answers_in, export, key_of, payload_of
from tests.factories import make_mlmodel, readme, tiny_onnx
from tests.programs import needs
from tests.registry import shopfloor
from tests.registry.analysis.workloads import searched

pytestmark = [pytest.mark.django_db, needs("cryptography")]


@pytest.fixture
def device(tmp_path: Path) -> Device:
    _, device = shopfloor.make_machine()
    key_of(device, tmp_path / "agent")
    return device


def submit(alice: User, name: str = "net", **options: Any) -> Job:
    """A search of a published network with bytes."""
    files = {"README.md": readme(), "net/model.onnx": tiny_onnx()}
    mlmodel = make_mlmodel(f"alice/{name}", actor=alice, files=files)
    revision = mlmodel.refs.get(name="main").revision
    shopfloor.make_graph(revision)
    target = Target.objects.get()
    return job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target, **options)


def test_a_bundle_holds_signed_tickets_files_and_answers(
    alice: User, device: Device, tmp_path: Path
) -> None:
    job = submit(alice)
    row = export(device, tmp_path / "jobs")
    _, key = current_key()
    with BundleFile(
        tmp_path / "jobs",
        lambda envelope: open_envelope(envelope, JOBS_TYPE, {key.keyid: key.public_pem})[0],
    ) as file:
        (described,) = file.manifest["jobs"]
        ticket = JobTicket.from_json(described["ticket"])
        assert {one.sha256 for one in ticket.files} <= file.blobs.keys()
        answers = json.loads(file.content_of(file.manifest["answers"]))
    assert (ticket.job_uuid, ticket.fence, ticket.lease_s) == (str(job.uuid), 1, 3600.0)
    names = {one["name"] for one in answers["answers"][ticket.job_uuid]}
    assert {"trials_of_job", "experience", "has_confirmed_builds"} <= names
    assert read_list(file.manifest["keys"]).current == key.keyid
    job.refresh_from_db()
    assert job.state == JobState.LEASED
    assert job.lease_until == row.lease_until
    assert AuditEntry.objects.filter(action="bundle.export", subject=str(row)).exists()


def test_a_bundle_contains_earlier_trials_of_a_search(
    alice: User, device: Device, tmp_path: Path
) -> None:
    first = submit(alice)
    export(device)
    held = {"job_uuid": str(first.uuid), "fence": 1}
    trial_add(**held, trial=shopfloor.trial())
    job_write(**held, name="note", columns={"message": "x"})
    Job.objects.filter(pk=first.pk).update(state=JobState.SUCCEEDED, lease_until=None)
    second = job_submit(actor=None, kind=JobKind.TUNE, revision=first.revision, target=first.target)
    export(device, tmp_path / "jobs")
    document = answers_in(tmp_path / "jobs")
    rows = document["answers"][str(second.uuid)]
    answer = {
        (one["name"], one["parameters"].get("search_key")): document["values"][one["value"]]
        for one in rows
    }
    assert [one["ratio"] for one in answer["history", "b" * 64]] == [0.8]
    assert answer["experience", "b" * 64] == []
    assert len(answer["experience", NO_SEARCH_KEY]) == 1


def answers_of(bundle: JobBundle, job: Job) -> dict[str, Any]:
    """Reads of a job, as their names with the values of their parameters, to the answers."""
    with blob_open(bundle.answers) as file:
        document = json.load(file)
    values = document["values"]
    return {
        " ".join([one["name"], *map(str, one["parameters"].values())]): values[one["value"]]
        for one in document["answers"][str(job.uuid)]
    }


def device_of(trial: ScheduleTrial, tmp_path: Path) -> Device:
    """The device that found a schedule, with a key, and no search that the export would plan."""
    assert trial.job is not None
    search = job_submit(
        actor=None, kind=JobKind.TUNE, revision=trial.job.revision, target=trial.task.target
    )
    Job.objects.filter(pk=search.pk).update(state=JobState.CANCELLED)
    device = Device.objects.get(target=trial.task.target)
    key_of(device, tmp_path / "agent")
    return device


def test_an_experiment_is_exported_with_all_that_it_reads(tmp_path: Path) -> None:
    best = searched()
    other = searched(target="x86-64-v3", decisions=[[2, [1, 4, 2, 8]], [3, 1]])
    jobs = [submit(actor=None, task=best.task) for submit in (ablation_submit, cross_submit)]
    row = export(device_of(best, tmp_path))
    assert set(row.claims) == {str(job.uuid) for job in jobs}
    for job in jobs:
        answers = answers_of(row, job)
        assert answers["workload_of_job"]["key"] == best.task.key
        (trial,) = answers[f"schedule_trials {best.task.toolchain} {best.task.key}"]
        assert (trial["digest"], bool(trial["confirmed"])) == (best.digest, True)
    assert answers["foreign_schedules_of_job"][0]["trial"] == str(other.uuid)
    # A compiler needs the workload, not the network.
    blobs = {one["sha256"] for one in payload_of(row.envelope)["blobs"]}
    assert blobs == {row.answers_id}


def test_a_search_for_schedules_is_exported_with_published_principles(tmp_path: Path) -> None:
    best = searched()
    assert best.job is not None
    statement = {"anchor": best.task.anchor, "trait": {"kind": "unroll"}, "is_wanted": True}
    Principle.objects.create(
        identifier="e" * 64, statement=statement, method={}, anchor=best.task.anchor,
        status=PrincipleStatus.PUBLISHED, changed_at=timezone.now(),
    )  # fmt: skip
    job = job_submit(
        actor=None, kind=JobKind.SCHEDULE, revision=best.job.revision, target=best.task.target
    )
    answers = answers_of(export(device_of(best, tmp_path)), job)
    assert answers[f"principles ['{best.task.anchor}']"] == [statement]


def test_the_roofs_of_a_device_are_answered_as_over_http(alice: User, device: Device) -> None:
    for number in range(2):
        RoofSet.objects.create(device=device, tools_sha256=f"{number}" * 64, took_s=1.0)
    job = submit(alice)
    row = export(device)
    over_http = job_read(job_uuid=str(job.uuid), fence=1, name="roof_tools", parameters={})
    assert over_http == ["1" * 64, "0" * 64]
    assert answers_of(row, job)["roof_tools"] == over_http


def test_a_bundle_holds_as_many_jobs_as_its_budget(alice: User, device: Device) -> None:
    for name in ("a", "b", "c"):
        submit(alice, name, parameters={"budget_s": 100})
    row = export(device, budget_s=250.0)
    assert len(row.claims) == 2
    assert Job.objects.filter(state=JobState.QUEUED, kind=JobKind.TUNE).count() == 1
    assert len(export(device, budget_s=1.0).claims) == 1


def test_without_a_job_nothing_is_exported(device: Device) -> None:
    with pytest.raises(NotFound) as refusal:
        export(device)
    assert refusal.value.code == "job_not_found"
    assert not JobBundle.objects.exists()


def test_models_without_a_search_are_planned_for_a_device_that_is_never_online(
    alice: User, device: Device
) -> None:
    job = submit(alice)
    job.delete()
    assert len(export(device).claims) == 1


@pytest.mark.parametrize(
    ("change", "options", "field"),
    [
        ({"public_key": ""}, {}, "device"),
        ({"state": DeviceState.QUARANTINED}, {}, "device"),
        ({}, {"budget_s": 0.0}, "budget_s"),
        ({}, {"budget_s": float("nan")}, "budget_s"),
        ({}, {"lease_s": 1.0}, "lease_s"),
        ({}, {"lease_s": 1e9}, "lease_s"),
    ],
)
def test_impossible_exports_are_refused(
    alice: User, device: Device, change: dict[str, Any], options: dict[str, Any], field: str
) -> None:
    job = submit(alice)
    Device.objects.filter(pk=device.pk).update(**change)
    wanted = {"budget_s": 10.0, "lease_s": 3600.0} | options
    with pytest.raises(Invalid) as refusal:
        bundle_export(actor=None, device=device.name, **wanted)
    assert field in refusal.value.fields
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_only_operators_export(alice: User, device: Device) -> None:
    submit(alice)
    operator = User.objects.create(username="op", is_staff=True)
    for actor, error in ((AnonymousUser(), Unauthenticated), (alice, Forbidden)):
        with pytest.raises(error):
            bundle_export(actor=actor, device=device.name, budget_s=10.0, lease_s=3600.0)
        with pytest.raises(error):
            bundles(actor)
    row = bundle_export(actor=operator, device=device.name, budget_s=10.0, lease_s=3600.0)
    assert row.created_by == operator
    assert list(bundles(operator)) == [row]


def test_without_a_key_of_the_hub_nothing_is_claimed(
    alice: User, device: Device, settings: Any
) -> None:
    job = submit(alice)
    current_key()
    (settings.DATA_DIR / "signing.key").unlink()
    with pytest.raises(Unavailable):
        export(device)
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_a_fault_during_the_export_queues_the_jobs_again(
    alice: User, device: Device, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit(alice)
    # Larger than the disk: an exported bundle is stored, like any blob.
    settings.MAX_BLOB_BYTES = 1
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever it is
        export(device)
    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)


def test_the_lease_of_a_bundle_needs_no_heartbeat_and_ends(alice: User, device: Device) -> None:
    job = submit(alice)
    export(device)
    Device.objects.update(last_seen_at=timezone.now() - timedelta(hours=2))
    job_reap()
    job.refresh_from_db()
    assert job.state == JobState.LEASED
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    job_reap()
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_a_cancelled_bundle_queues_its_jobs_again(alice: User, device: Device) -> None:
    job = submit(alice)
    row = export(device)
    assert bundle_cancel(actor=None, uuid=str(row)).state == BundleState.CANCELLED
    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)
    with pytest.raises(Conflict):
        bundle_cancel(actor=None, uuid=str(row))


def test_the_answers_outlive_garbage_collection(alice: User, device: Device) -> None:
    submit(alice)
    row = export(device)
    assert not blobs_unreferenced().filter(pk=row.answers_id).exists()
    for _ in range(2):
        gc(grace=timedelta(0))
    assert Blob.objects.filter(pk=row.answers_id).exists()


def test_an_unknown_bundle_is_not_found(db: None) -> None:
    with pytest.raises(NotFound):
        bundle_get(None, "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11")


def test_the_manifest_names_the_device(alice: User, device: Device) -> None:
    submit(alice)
    manifest = payload_of(export(device).envelope)
    device.refresh_from_db()
    assert manifest["device"] == {"name": device.name, "public_key": device.public_key}
    assert manifest["target"] == device.target.slug
