"""Results of job bundles: performed once, or refused with nothing changed."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from hpcfair import machine
from hpcfair.bundle import RESULTS_TYPE
from registry.errors import Forbidden, Invalid, NotFound, Unauthenticated
from registry.services.work.bundle import bundle_cancel
from registry.services.work.bundleimport import bundle_import
from registry.services.work.job import job_submit
from registry.services.work.reaper import job_reap
from registry.states import BundleState, DeviceState, JobKind, JobState
from registry.tables import (
    AuditEntry,
    Blob,
    Device,
    Job,
    JobBundle,
    JobEvent,
    JobReport,
    JobWrite,
    Target,
    Trial,
    User,
)
from tests.bundles import Results, export, key_of, write_results
from tests.factories import make_mlmodel, readme, tiny_onnx
from tests.programs import needs
from tests.registry import shopfloor
from workers.agent.devicekey import DeviceKey

pytestmark = [pytest.mark.django_db, needs("cryptography")]


@pytest.fixture
def key(tmp_path: Path) -> DeviceKey:
    _, device = shopfloor.make_machine()
    return key_of(device, tmp_path / "agent")


@pytest.fixture
def row(alice: User, key: DeviceKey) -> JobBundle:
    """A bundle of two searches."""
    for name in ("a", "b"):
        files = {"README.md": readme(), "net/model.onnx": tiny_onnx()}
        mlmodel = make_mlmodel(f"alice/{name}", actor=alice, files=files)
        revision = mlmodel.refs.get(name="main").revision
        shopfloor.make_graph(revision)
        target = Target.objects.get()
        job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)
    return export(Device.objects.get())


@pytest.fixture
def results(row: JobBundle, key: DeviceKey) -> Results:
    """Results of both searches: two trials, a file and an end each."""
    made = Results(row, key)
    for job in row.claims:
        made.write(job, "note", message="at work")
        made.write(job, "trial_add", trial=trial(1, "all"))
        made.keep(job, f"artefact of {job}".encode())
        made.write(job, "trial_add", trial=trial(2, "half"))
        made.end(job)
    return made


def trial(number: int, threads: str) -> dict[str, Any]:
    return shopfloor.trial(number, threads)


def stored() -> tuple[Any, ...]:
    """All rows that an import may change, except the audit log."""
    return (
        sorted(Job.objects.values_list("uuid", "state", "fence", "attempt")),
        sorted(Trial.objects.values_list("uuid", flat=True)),
        JobWrite.objects.count(),
        JobReport.objects.count(),
        JobEvent.objects.count(),
        Blob.objects.count(),
        sorted(JobBundle.objects.values_list("state", "results_sha256")),
        sorted(Device.objects.values_list("name", "state")),
    )


def refused(path: Path, match: str, **options: Any) -> None:
    """Check that a file is refused, changes nothing, and is logged."""
    before, logged = stored(), AuditEntry.objects.filter(action="bundle.refuse").count()
    with pytest.raises(Invalid, match=match) as refusal:
        bundle_import(actor=None, path=path, **options)
    assert refusal.value.code == "invalid_bundle"
    assert stored() == before
    assert AuditEntry.objects.filter(action="bundle.refuse").count() == logged + 1


def refused_and_quarantined(path: Path, match: str) -> None:
    """Check that nothing of a file is stored, and that its device is no longer trusted."""
    with pytest.raises(Invalid, match=match):
        bundle_import(actor=None, path=path)
    assert Device.objects.get().state == DeviceState.QUARANTINED
    actions = ("device.offence", "bundle.refuse")
    assert AuditEntry.objects.filter(action__in=actions).count() == 2
    assert [table.objects.count() for table in (Trial, JobWrite, JobReport)] == [0, 0, 0]


def test_results_have_the_effect_that_they_have_over_http(
    results: Results, row: JobBundle, tmp_path: Path
) -> None:
    done = bundle_import(actor=None, path=results.packed(tmp_path / "results"))
    assert done.state == BundleState.IMPORTED
    assert [one["outcome"] for one in done.report] == ["succeeded"] * 2
    for job in Job.objects.filter(uuid__in=row.claims):
        assert (job.state, job.result["summary"]) == (JobState.SUCCEEDED, "done")
        assert job.trials.count() == 2
        assert job.blobs.count() == 1
    # The follow-ups of a search are queued for these as well.
    assert Job.objects.exclude(uuid__in=row.claims).exists()
    assert AuditEntry.objects.filter(action="bundle.import", subject=str(row)).count() == 1


def test_importing_twice_changes_nothing(results: Results, tmp_path: Path) -> None:
    path = results.packed(tmp_path / "results")
    first = bundle_import(actor=None, path=path)
    before = stored()
    again = bundle_import(actor=None, path=path)
    assert stored() == before
    assert again.report == first.report
    # Also with another signature over the same content, as if the run packed twice.
    packed = results.packed(tmp_path / "again", agent_version="2")
    third = bundle_import(actor=None, path=packed)
    assert stored()[:6] == before[:6]
    assert [one["outcome"] for one in third.report] == ["succeeded"] * 2


def test_an_unfinished_job_goes_on_where_it_was(
    row: JobBundle, key: DeviceKey, tmp_path: Path
) -> None:
    job, _ = row.claims
    made = Results(row, key).write(job, "trial_add", trial=trial(1, "all"))
    done = bundle_import(actor=None, path=made.packed(tmp_path / "first"))
    assert [one["outcome"] for one in done.report] == ["unfinished"]
    made.write(job, "trial_add", trial=trial(2, "half")).end(job)
    done = bundle_import(actor=None, path=made.packed(tmp_path / "second"))
    assert [one["outcome"] for one in done.report] == ["succeeded"]
    assert list(Trial.objects.values_list("number", flat=True).order_by("number")) == [1, 2]


def test_results_after_the_lease_change_nothing(
    results: Results, row: JobBundle, tmp_path: Path
) -> None:
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    job_reap()
    done = bundle_import(actor=None, path=results.packed(tmp_path / "results"))
    assert [one["outcome"] for one in done.report] == ["late"] * 2
    assert not Trial.objects.exists()
    assert JobReport.objects.filter(is_late=True).count() == 2
    assert set(Job.objects.values_list("state", flat=True)) == {JobState.QUEUED}


def test_results_of_a_cancelled_bundle_are_late(
    results: Results, row: JobBundle, tmp_path: Path
) -> None:
    bundle_cancel(actor=None, uuid=str(row))
    done = bundle_import(actor=None, path=results.packed(tmp_path / "results"))
    assert {one["outcome"] for one in done.report} == {"late"}
    assert not Trial.objects.exists()


def test_results_of_a_deleted_model_are_late(
    results: Results, row: JobBundle, tmp_path: Path
) -> None:
    Job.objects.all().delete()
    done = bundle_import(actor=None, path=results.packed(tmp_path / "results"))
    assert {one["outcome"] for one in done.report} == {"late"}
    assert Device.objects.get().state == DeviceState.ACTIVE


def test_an_invalid_write_refuses_its_job_and_no_other(
    row: JobBundle, key: DeviceKey, tmp_path: Path
) -> None:
    first, second = row.claims
    made = Results(row, key)
    made.write(first, "trial_add", trial=trial(1, "all"))
    made.write(first, "trial_add", trial={"number": "two"}).end(first)
    made.write(second, "trial_add", trial=trial(1, "all")).end(second)
    done = bundle_import(actor=None, path=made.packed(tmp_path / "results"))
    assert [one["outcome"] for one in done.report] == ["refused", "succeeded"]
    assert "number" in done.report[0]["detail"]
    assert Trial.objects.count() == 1


def test_impossible_numbers_put_the_device_into_quarantine(
    row: JobBundle, key: DeviceKey, tmp_path: Path
) -> None:
    first, second = row.claims
    made = Results(row, key)
    made.write(first, "trial_add", trial=trial(1, "all") | {"duration_s": 1e6}).end(first)
    made.write(second, "trial_add", trial=trial(1, "all")).end(second)
    done = bundle_import(actor=None, path=made.packed(tmp_path / "results"))
    assert [one["outcome"] for one in done.report] == ["refused", "refused"]
    assert not Trial.objects.exists()
    assert Device.objects.get().state == DeviceState.QUARANTINED
    assert AuditEntry.objects.filter(action="device.offence").count() == 1


def test_only_operators_import(results: Results, tmp_path: Path) -> None:
    with pytest.raises(Unauthenticated):
        bundle_import(actor=AnonymousUser(), path=results.packed(tmp_path / "results"))


def test_another_key_is_refused(results: Results, tmp_path: Path) -> None:
    results.key = DeviceKey.in_folder(tmp_path / "another")
    refused(results.packed(tmp_path / "results"), "not signed by the key of this device")


def test_an_end_by_another_key_is_refused(results: Results, row: JobBundle, tmp_path: Path) -> None:
    another = DeviceKey.in_folder(tmp_path / "another")
    results.lines[-1]["end"]["signature"] = another.sign(b"anything")
    done = bundle_import(actor=None, path=results.packed(tmp_path / "results"))
    assert [one["outcome"] for one in done.report] == ["succeeded", "refused"]
    assert Device.objects.get().state == DeviceState.QUARANTINED


def test_the_bundle_itself_is_refused_as_results(row: JobBundle, tmp_path: Path) -> None:
    bundle_cancel(actor=None, uuid=str(row))
    export(row.device, tmp_path / "jobs")
    refused(tmp_path / "jobs", "its type is")


def test_results_of_an_unknown_bundle_are_not_found(
    row: JobBundle, key: DeviceKey, tmp_path: Path
) -> None:
    unknown = "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11"
    path = write_results(tmp_path / "results", key, unknown, [b""])
    with pytest.raises(NotFound):
        bundle_import(actor=None, path=path)


def test_results_of_another_bundle_than_the_one_named_are_refused(
    results: Results, tmp_path: Path
) -> None:
    path = results.packed(tmp_path / "results")
    refused(path, "they are of bundle", uuid="0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11")


def test_a_device_cannot_report_on_the_jobs_of_another(
    results: Results, row: JobBundle, tmp_path: Path
) -> None:
    other = {**results.lines[0], "job": "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11"}
    results.lines.append(other)
    refused_and_quarantined(results.packed(tmp_path / "results"), "which is not in bundle")


def test_results_of_an_earlier_claim_are_refused(results: Results, tmp_path: Path) -> None:
    results.lines[0]["fence"] = 7
    refused_and_quarantined(results.packed(tmp_path / "results"), "which is not in bundle")


_NAN = b'{"job": "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11", "fence": 1, "begin": NaN}\n'


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: lines.insert(0, {"number": 1}), "malformed"),
        (lambda lines: lines.insert(0, []), "malformed"),
        (lambda lines: lines[0].update(number=0), "have a gap"),
        (lambda lines: lines[3].update(number=9), "have a gap"),
        (lambda lines: lines.append(lines[0]), "goes on after its end"),
        (lambda lines: lines[2].update(keep="../../etc/passwd"), "malformed"),
        (lambda lines: lines[2].update(keep="0" * 64), "it lacks the file"),
        (lambda lines: lines[0].update(extra=1), "malformed"),
    ],
)
def test_a_malformed_journal_is_refused(
    results: Results, tmp_path: Path, change: Callable[[list[Any]], Any], reason: str
) -> None:
    change(results.lines)
    refused(results.packed(tmp_path / "results"), reason)


@pytest.mark.parametrize("journal", [b"{", b"\xff\n", b"[" * 100_000, _NAN, b"1e999\n"])
def test_a_journal_that_is_not_json_is_refused(
    row: JobBundle, key: DeviceKey, tmp_path: Path, journal: bytes
) -> None:
    refused(write_results(tmp_path / "results", key, str(row), [journal]), "its journal")


@pytest.mark.parametrize(
    "changes",
    [
        {"bundle": "x"}, {"bundle": None}, {"schema": "hpcfair.job-results/9"}, {"schema": 1},
        {"journal": "0" * 64}, {"journal": None}, {"journal": []}, {"blobs": None}, {"blobs": [{}]},
    ],
)  # fmt: skip
def test_a_malformed_manifest_is_refused(
    row: JobBundle, key: DeviceKey, tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = write_results(tmp_path / "results", key, str(row), [b""], changes=changes)
    refused(path, "refused")


def test_a_damaged_file_is_refused(results: Results, tmp_path: Path) -> None:
    whole = results.packed(tmp_path / "results").read_bytes()
    place = whole.index(b"artefact of")
    for damaged in (
        whole[:place] + b"A" + whole[place + 1 :],
        whole[:-1],
        whole + b"x",
        b"",
        b"{}",
    ):
        (tmp_path / "damaged").write_bytes(damaged)
        refused(tmp_path / "damaged", "refused")


def test_an_envelope_of_another_type_is_refused(
    row: JobBundle, key: DeviceKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signature by the same key over another payload is not accepted."""
    monkeypatch.setattr("tests.bundles.RESULTS_TYPE", RESULTS_TYPE + "+x")
    refused(write_results(tmp_path / "results", key, str(row), [b""]), "its type is")


def test_results_of_a_device_in_quarantine_are_refused(results: Results, tmp_path: Path) -> None:
    Device.objects.update(state=DeviceState.QUARANTINED, reason="odd results")
    before = stored()
    with pytest.raises(Forbidden, match="odd results"):
        bundle_import(actor=None, path=results.packed(tmp_path / "results"))
    assert stored() == before


def test_facts_of_another_machine_put_the_device_into_quarantine(
    results: Results, tmp_path: Path
) -> None:
    facts = machine.describe().to_dict() | {"architecture": "arm64", "features": ["asimd"]}
    with pytest.raises(Invalid):
        bundle_import(actor=None, path=results.packed(tmp_path / "results", facts=facts))
    assert not Trial.objects.exists()
    assert Device.objects.get().state == DeviceState.QUARANTINED


def test_results_may_only_name_files_that_came_with_them(
    row: JobBundle, key: DeviceKey, tmp_path: Path
) -> None:
    job, _ = row.claims
    secret = Blob.objects.exclude(pk=row.answers_id).earliest("created_at").pk
    columns = json.loads(json.dumps(shopfloor.build("0" * 64)))
    made = Results(row, key).write(
        job, "builds_publish", builds=[columns | {"files": {"x": secret}}]
    )
    done = bundle_import(actor=None, path=made.packed(tmp_path / "results"))
    assert done.report[0]["outcome"] == "refused"
