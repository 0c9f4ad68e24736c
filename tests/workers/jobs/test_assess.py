"""Assessments of records as a real hub serves them, by a real worker over HTTP."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from registry.selectors.fair.assessment import latest
from registry.selectors.repository.revision import files_of, revision_get
from registry.selectors.storage.blob import blob_path
from registry.services.fair.assessment import assess_request
from registry.services.repository.mlmodel import mlmodel_update
from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.services.results.reproduction import reproduction_add
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.job import job_submit
from registry.states import JobKind, JobState, RepositoryKind
from registry.tables import Assessment, Build, Job, JobEvent, MLModel, Revision, Target, User
from tests.factories import commit_files, make_mlmodel, readme, store, tiny_onnx
from tests.registry import shopfloor
from workers import tasks
from workers.jobs import assess, run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

CARD = readme(
    "# Galaxy shapes\n\nSorts images of galaxies by their shape, for surveys of the whole sky.\n",
    model_name="Galaxy shapes",
    pipeline_tag="image-classification",
    library_name="onnx",
    tags=["astronomy", "galaxies"],
    authors=[
        {
            "name": "Josiah Carberry",
            "orcid": "0000-0002-1825-0097",
            "affiliation": {"name": "Brown University", "ror": "https://ror.org/05gq02987"},
        }
    ],
    datasets=["alice/sky"],
    intended_use="Sorting survey images before people look at them.",
    limitations="Trained on bright galaxies only.",
    **{
        "model-index": [
            {
                "name": "Galaxy shapes",
                "results": [
                    {
                        "task": {"type": "image-classification"},
                        "dataset": {"name": "Sky", "type": "alice/sky"},
                        "metrics": [{"type": "accuracy", "value": 0.98}],
                    }
                ],
            }
        ]
    },
)
SKY = readme(
    "# Sky\n\nTen thousand pictures of galaxies, with their shapes as three people saw them.\n",
    pretty_name="Sky",
    license="cc-by-4.0",
    tags=["astronomy"],
    authors=[{"name": "Josiah Carberry", "orcid": "0000-0002-1825-0097"}],
)
#: What no card can mend: the hub has to have computed it, or the files lack it.
BEYOND_THE_CARD = {"FsF-I2-01M", "HUB-R-02", "HUB-R-03", "HUB-R-04"}


@pytest.fixture(autouse=True)
def hub(live_server: LiveServer, settings: Any) -> None:
    """A hub at its outside address that looks by itself."""
    settings.HUB_URL = live_server.url
    settings.ASSESS_DAYS = 7
    cache.clear()


def look(mlmodel: MLModel) -> dict[str, Any]:
    """What a worker finds now; a look is asked for if none waits."""
    head = revision_get(mlmodel)
    assess_request(actor=None, revision=head)
    Job.objects.filter(kind=JobKind.ASSESS).update(not_before=None)
    run.drain([JobKind.ASSESS], here=None)
    job = Job.objects.filter(kind=JobKind.ASSESS, revision=head).latest("pk")
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    found = latest(head)
    assert found is not None
    document: dict[str, Any] = found.document
    return document


def lost(document: dict[str, Any]) -> dict[str, list[str]]:
    return {
        one["id"]: [why["what"] for why in one["missing"]]
        for one in document["metrics"]
        if one["points"] < one["of"]
    }


def fields(document: dict[str, Any]) -> dict[str, set[str | None]]:
    return {
        one["id"]: {why.get("field") for why in one["missing"]}
        for one in document["metrics"]
        if one["missing"]
    }


def by_hub(document: dict[str, Any]) -> set[str]:
    """Metrics that miss something that no card mends."""
    return {id_ for id_, found in fields(document).items() if None in found}


def built_and_reproduced(revision: Revision) -> None:
    """Two builds, as a search leaves them, run again on the test tensors."""
    target, device = shopfloor.make_machine()
    held = begin(JobKind.TUNE, revision, target, device.name)
    records = {}
    for threads in ("all", "one"):
        store(f"artefact with {threads} threads".encode())
        document = shopfloor.document(revision, threads, job=str(held["job_uuid"]))
        records[threads] = record_add(**held, document=document)
    made = {"provenance": {"toolchain": {"onnxruntime": "1.31.1"}}}
    slow = {"is_baseline": True, "ratio": 1.0, "verdict": "same"} | made
    builds = [
        shopfloor.build(records["all"].pk, "all", **slow),
        shopfloor.build(records["one"].pk, "one", **made),
    ]
    builds_publish(**held, builds=builds)
    job_succeed(**held, result={"summary": "built"})
    held = begin(JobKind.REPRODUCE, revision, target, device.name)
    for build in Build.objects.all():
        reproduction_add(
            str(build.uuid), **held, tools={"onnxruntime": "1.31.1"}, outcome="reproduced"
        )
    job_succeed(**held, result={"summary": "reproduced"})


def begin(kind: JobKind, revision: Revision, target: Target, device: str) -> dict[str, Any]:
    job_submit(actor=None, kind=kind, revision=revision, target=target)
    ticket = job_claim(device_name=device, kinds=[kind], target=target.slug)
    assert ticket is not None
    return {"job_uuid": ticket.job_uuid, "fence": ticket.fence}


def test_a_record_that_says_all_earns_every_point(alice: User) -> None:
    make_mlmodel("alice/sky", files={"README.md": SKY}, kind=RepositoryKind.DATASET)
    Job.objects.all().delete()
    net = make_mlmodel("alice/net", files={"README.md": CARD, "model.onnx": tiny_onnx()})
    run.drain([JobKind.INSPECT], here=None)
    built_and_reproduced(revision_get(net))
    before = MLModel.objects.get(pk=net.pk).downloads
    document = look(net)
    assert lost(document) == {}
    assert document["percent"] == 100
    assert "/ark:/99999/" in document["subject"]
    assert MLModel.objects.get(pk=net.pk).downloads == before, "to look is not to download"
    assert Job.objects.filter(kind=JobKind.ASSESS).latest("pk").result["points"] > 26


def test_a_record_that_says_nothing_loses_only_what_its_owner_can_mend(alice: User) -> None:
    bare = make_mlmodel("alice/bare", files={"weights.bin": b"\0" * 1000})
    document = look(bare)
    assert 0 < document["percent"] < 80
    assert by_hub(document) <= BEYOND_THE_CARD
    asked = {field for found in fields(document).values() for field in found}
    assert asked >= {"authors", "license", "pipeline_tag", "datasets", "intended_use", "README.md"}


def test_a_data_set_and_a_gated_model_earn_what_is_served_of_them(alice: User) -> None:
    sky = make_mlmodel("alice/sky", files={"README.md": SKY}, kind=RepositoryKind.DATASET)
    found = look(sky)
    assert found["kind"] == "dataset"
    assert by_hub(found) == set()
    mlmodel_update(actor=None, mlmodel=sky, gate="manual")
    cache.clear()
    gated = lost(look(sky))
    assert gated == lost(found), "its card stays open"


def test_bytes_that_went_bad_are_found(alice: User, data_dir: Path) -> None:
    sky = make_mlmodel("alice/sky", files={"README.md": SKY}, kind=RepositoryKind.DATASET)
    file = files_of(revision_get(sky)).get(path="README.md")
    stored = blob_path(file.blob)
    assert stored is not None
    stored.chmod(0o644)
    stored.write_bytes(b"x" * file.blob.size_bytes)
    (fault,) = lost(look(sky))["HUB-A-03"]
    assert "README.md (SHA-256)" in fault


def test_what_is_hidden_or_replaced_meanwhile_is_passed_over(alice: User) -> None:
    net = make_mlmodel("alice/net", files={"README.md": CARD})
    commit_files(net, {"notes.txt": "newer\n"})
    mlmodel_update(actor=None, mlmodel=net, visibility="private")
    assert run.drain([JobKind.ASSESS], here=None) == 2
    jobs = Job.objects.filter(kind=JobKind.ASSESS)
    assert {job.state for job in jobs} == {JobState.SUCCEEDED}
    assert all("skipped: private, or replaced" in job.result["summary"] for job in jobs)
    assert not Assessment.objects.exists()


def nobody(settings: Any) -> None:
    settings.HUB_URL = "http://127.0.0.1:1"


def elsewhere(settings: Any) -> None:
    settings.HUB_URL += "/another/place"


@pytest.mark.parametrize("lead", [nobody, elsewhere])
def test_a_hub_that_is_not_where_it_says_is_asked_again_later(
    alice: User, settings: Any, lead: Callable[[Any], None]
) -> None:
    make_mlmodel("alice/net", files={"README.md": CARD})
    lead(settings)
    assert run.drain([JobKind.ASSESS], here=None) == 1
    job = Job.objects.get(kind=JobKind.ASSESS)
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)
    assert job.not_before is not None
    assert "HPCFAIR_INSIDE_URL" in JobEvent.objects.filter(job=job).latest("pk").message
    assert not Assessment.objects.exists()


def test_a_look_that_takes_too_long_is_given_up(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assess, "_MAX_RUN_S", -1.0)
    make_mlmodel("alice/net", files={"README.md": CARD})
    run.drain([JobKind.ASSESS], here=None)
    job = Job.objects.get(kind=JobKind.ASSESS)
    assert (job.state, job.failure_code) == (JobState.FAILED, "job_timeout")


def test_workers_reach_the_hub_inside_where_its_address_does_not_lead(
    alice: User, live_server: LiveServer, settings: Any
) -> None:
    settings.HUB_URL, settings.INSIDE_URL = "https://hub.example.org", live_server.url
    sky = make_mlmodel("alice/sky", files={"README.md": SKY}, kind=RepositoryKind.DATASET)
    document = look(sky)
    assert document["subject"].startswith("https://hub.example.org/ark:/")
    assert by_hub(document) == set()


def test_a_notification_looks_at_one_record_and_beat_fills_up(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: list[JobKind] = []
    monkeypatch.setattr("registry.dispatch.notify_kind", kinds.append)
    for name in "ab":
        make_mlmodel(f"alice/{name}", files={"README.md": SKY}, kind=RepositoryKind.DATASET)
    Job.objects.all().delete()
    Revision.objects.update(assess_at=timezone.now())
    tasks.assess_due()
    # Passed over, which is as good as a look here, and quicker.
    MLModel.objects.update(visibility="private")
    ended = Job.objects.filter(kind=JobKind.ASSESS, state=JobState.SUCCEEDED)
    for count in (1, 2, 2):
        tasks.assess()
        assert ended.count() == count
    assert kinds == [JobKind.ASSESS, JobKind.ASSESS]
