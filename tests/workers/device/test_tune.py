"""Tune jobs through the real engine: child processes, ONNX Runtime, records, builds."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import onnx
import pytest
from django.test import Client
from onnx import TensorProto, helper

from hpcfair.choice import LoadRequest
from registry.selectors.results.best import best_build
from registry.services.work.job import job_cancel, job_submit
from registry.services.work.plan import plan_repetition
from registry.services.work.target import target_enable
from registry.states import JobKind, JobState, TrialOutcome, Verdict
from registry.tables import (
    Build,
    Job,
    MLModel,
    Record,
    Reproduction,
    Revision,
    Target,
    Trial,
    User,
)
from tests.factories import make_mlmodel, readme, tiny_onnx
from workers.backends.registry import available
from workers.device import tune
from workers.engine import generation
from workers.engine.requests import SearchBudget
from workers.fleet.probe import ThisMachine
from workers.jobs import run
from workers.jobs.device import register
from workers.jobs.hub import RegistryHub
from workers.testing import networks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(autouse=True)
def one_backend(short_searches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """``tests/contract/test_round_trip.py`` searches two of them at once.

    Trials end a search, not time: a busy machine tries as much as an idle one.
    """
    brief = tune.SearchBudget

    def served(here: ThisMachine, wanted: list[str] | None, forms: Any) -> Any:
        return available(here.spec, wanted or ["onnxruntime"], forms)

    def few(**given: Any) -> SearchBudget:
        return replace(
            brief(**given),
            seconds=300.0,
            trials=2,
            candidates_to_confirm=1,
            confirmation_processes=2,
        )

    monkeypatch.setattr(tune, "backends_of", served)
    monkeypatch.setattr(tune, "SearchBudget", few)


def publish(alice: User, model: bytes, **files: bytes) -> Revision:
    """Publish and inspect; the newest revision."""
    content: dict[str, bytes | str] = {"README.md": readme(), "model.onnx": model, **files}
    mlmodel = make_mlmodel("alice/net", actor=alice, files=content)
    run.drain([JobKind.INSPECT], here=None)
    return MLModel.objects.get(pk=mlmodel.pk).refs.get(name="main").revision


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[set[tuple[str, bool]]]:
    """What is published after each step of a search: kind of record, and whether the baseline."""
    steps: list[set[tuple[str, bool]]] = []
    kept = tune.publish

    def watched(*arguments: Any, **options: Any) -> Any:
        answer = kept(*arguments, **options)
        live = Build.objects.filter(withdrawn_at=None).select_related("record")
        steps.append({(build.record.kind, build.is_baseline) for build in live})
        return answer

    monkeypatch.setattr(tune, "publish", watched)
    return steps


def test_builds_of_a_decoder_are_timed_as_they_generate(
    alice: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "_SECONDS", 0.01)
    few = tune.SearchBudget
    one = partial(replace, trials=1, confirmation_processes=1)
    monkeypatch.setattr(tune, "SearchBudget", lambda **given: one(few(**given)))
    revision = publish(alice, networks.decoder().SerializeToString())
    here = register()
    run.drain([JobKind.TUNE], here=here)
    job = Job.objects.filter(kind=JobKind.TUNE).earliest("id")
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    baseline = Build.objects.get(is_baseline=True, withdrawn_at=None)
    document = baseline.record.document
    shapes = {one["name"]: one["shape"] for one in document["identity"]["inputs"]}
    assert (shapes["input_ids"], shapes["attention_mask"]) == ([1, 1], [1, 129])
    # An empty cache, two rows and odd lengths.
    assert document["correctness"]["sizes"] == 3
    assert [one["context"] for one in document["generation"]] == [128, 512]
    page = client.get(f"/alice/net?revision={revision.oid}").content.decode()
    assert "first token" in page
    assert "a further token after 128" in page


def test_a_search_ends_in_builds_that_a_machine_can_load_and_a_second_replaces_them(
    alice: User, published: list[set[tuple[str, bool]]]
) -> None:
    here = register()
    revision = publish(alice, tiny_onnx())
    assert run.drain([JobKind.TUNE], here=here) == 1
    # The baseline is there as soon as it is measured, and the search's figures until the end's are.
    assert published[0] == {("search-trial", True)}
    assert {kind for step in published[:-1] for kind, _ in step} == {"search-trial"}
    assert {kind for kind, _ in published[-1]} == {"headline"}
    # A noisy machine may leave a repetition behind it.
    job = Job.objects.filter(kind=JobKind.TUNE).earliest("id")
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert job.result["summary"]
    baseline = Build.objects.get(is_baseline=True, withdrawn_at=None)
    assert (baseline.ratio, baseline.verdict) == (1.0, Verdict.SAME)
    assert baseline.profile.call_sites.exists()
    for build in Build.objects.filter(withdrawn_at=None):
        assert build.is_baseline or build.verdict == Verdict.FASTER
        assert build.record.document["identity"]["config_sha256"] == build.config_sha256
    assert Record.objects.count() >= Build.objects.count()
    assert Trial.objects.filter(outcome=TrialOutcome.MEASURED).exists()
    choice = best_build(
        revision,
        LoadRequest(
            architecture=here.spec.architecture,
            features=here.spec.features,
            runtimes={"onnxruntime": "1"},
            tolerance="exact",
        ),
    )
    assert choice.build is not None
    # They are run on the network's test tensors afterwards.
    assert run.drain([JobKind.REPRODUCE], here=here) == 1
    live = set(Build.objects.filter(withdrawn_at=None))
    again = Reproduction.objects.select_related("build")
    assert {(row.build, row.outcome) for row in again} == {(one, "reproduced") for one in live}

    second = job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=job.target)
    published.clear()
    run.drain([JobKind.TUNE], here=here)
    # What was measured in fresh processes is not replaced by what was measured in passing.
    assert [{kind for kind, _ in step} for step in published] == [{"headline"}]
    second.refresh_from_db()
    assert second.state == JobState.SUCCEEDED, second.failure_detail
    assert {build.job_id for build in Build.objects.filter(withdrawn_at=None)} == {second.pk}
    assert live <= set(Build.objects.exclude(withdrawn_at=None).filter(job=job))


def test_what_a_search_left_open_is_measured_again_beside_what_is_published(
    alice: User, read_here: None
) -> None:
    here = register()
    publish(alice, tiny_onnx())
    run.drain([JobKind.TUNE], here=here)
    search = Job.objects.filter(kind=JobKind.TUNE).earliest("id")
    baseline = Build.objects.get(is_baseline=True, withdrawn_at=None)
    others = search.trials.filter(outcome__in=[TrialOutcome.MEASURED, TrialOutcome.PRUNED])
    trial = others.exclude(config_sha256=baseline.config_sha256).first()
    assert trial is not None
    columns = ("config_sha256", "candidate", "tolerance", "ratio", "ratio_low", "ratio_high")
    search.result["inconclusive"] = [{name: getattr(trial, name) for name in columns}]
    search.save(update_fields=["result"])
    Job.objects.filter(kind=JobKind.TUNE).exclude(pk=search.pk).delete()

    job = plan_repetition(job_uuid=str(search.uuid))
    assert job is not None
    assert run.drain([JobKind.TUNE], here=here) == 0
    Job.objects.filter(pk=job.pk).update(not_before=None)
    assert run.drain([JobKind.TUNE], here=here) == 1
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    repeated = job.trials.all()
    assert {one.proposed_by for one in repeated} == {"repeat"}
    assert {one.config_sha256 for one in repeated} == {baseline.config_sha256, trial.config_sha256}
    baseline.refresh_from_db()
    assert baseline.withdrawn_at is None
    assert isinstance(job.result["inconclusive"], list)


def test_a_backend_that_cannot_work_is_said_once_and_costs_no_trial(
    alice: User, read_here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = register()
    publish(alice, tiny_onnx())
    monkeypatch.setattr(
        tune, "faults_of", lambda *_: {"onnxruntime": "it needs the package nowhere"}
    )
    run.drain([JobKind.TUNE], here=here)
    job = Job.objects.get(kind=JobKind.TUNE)
    assert (job.state, job.failure_code) == (JobState.FAILED, "no_backend")
    notes = [event.message for event in job.events.all() if "is left out" in event.message]
    assert notes == ["Backend onnxruntime is left out: it needs the package nowhere"]
    assert not job.trials.exists()


def test_a_network_that_does_not_run_fails_with_the_reason_and_the_worker_lives(
    alice: User, read_here: None
) -> None:
    here = register()
    # Valid on paper; the Reshape cannot be done at run time.
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        "broken",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(np.array([7, 13], np.int64), "shape")],
    )
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    publish(alice, network.SerializeToString())
    run.drain([JobKind.TUNE], here=here)
    job = Job.objects.get(kind=JobKind.TUNE)
    assert (job.state, job.failure_class) == (JobState.FAILED, "invalid"), job.failure_detail
    assert "Reshape" in job.failure_detail
    assert not Build.objects.exists()


def test_a_cancelled_search_stops_and_publishes_nothing(
    alice: User, read_here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = register()
    publish(alice, tiny_onnx())
    job = Job.objects.get(kind=JobKind.TUNE)
    progress = RegistryHub.progress

    def cancel_in_the_middle(hub: RegistryHub, phase: str, *rest: Any) -> None:
        if phase == "search":
            job_cancel(actor=None, job=Job.objects.get(pk=job.pk))
            hub._lease._renew()
        progress(hub, phase, *rest)

    monkeypatch.setattr(RegistryHub, "progress", cancel_in_the_middle)
    run.drain([JobKind.TUNE], here=here)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert not Build.objects.exists()


def test_a_backend_that_is_not_there_fails_the_job_with_a_hint(
    alice: User, read_here: None
) -> None:
    here = register()
    revision = publish(alice, tiny_onnx())
    Job.objects.filter(kind=JobKind.TUNE).delete()
    target = Target.objects.get(slug=here.spec.slug)
    job_submit(
        actor=None,
        kind=JobKind.TUNE,
        revision=revision,
        target=target,
        parameters={"backends": ["nonesuch"]},
    )
    run.drain([JobKind.TUNE], here=here)
    job = Job.objects.get(kind=JobKind.TUNE)
    assert (job.state, job.failure_code) == (JobState.FAILED, "no_backend")
    assert "onnxruntime" in job.failure_detail


def test_a_strategy_that_nobody_knows_fails_the_job_with_those_there_are(
    alice: User, read_here: None
) -> None:
    here = register()
    revision = publish(alice, tiny_onnx())
    Job.objects.filter(kind=JobKind.TUNE).delete()
    target = Target.objects.get(slug=here.spec.slug)
    job_submit(
        actor=None,
        kind=JobKind.TUNE,
        revision=revision,
        target=target,
        parameters={"strategy": "psychic", "backends": ["openvino"]},
    )
    run.drain([JobKind.TUNE], here=here)
    job = Job.objects.get(kind=JobKind.TUNE)
    assert (job.state, job.failure_code) == (JobState.FAILED, "invalid_request")
    assert "learned" in job.failure_detail


def test_work_for_a_target_that_is_off_waits(alice: User, read_here: None) -> None:
    here = register()
    publish(alice, tiny_onnx())
    target_enable(actor=None, slug=here.spec.slug, enabled=False)
    assert run.drain([JobKind.TUNE], here=here) == 0
    assert Job.objects.get(kind=JobKind.TUNE).state == JobState.QUEUED
