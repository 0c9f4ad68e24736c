"""A search of some length also publishes the builds that answer queries soonest."""

from typing import Any

import pytest

from hpcfair.choice import LoadRequest
from hpcfair.scenarios import MULTI_STREAM, MULTI_STREAM_SAMPLES, OFFLINE
from registry.scenarios import Scenario
from registry.selectors.results.best import best_build
from registry.states import JobKind, JobState
from registry.tables import BestBuild, Build, Job, MLModel, User
from tests.factories import make_mlmodel, readme, tiny_onnx
from workers.backends.registry import available
from workers.device import queries, tune
from workers.engine.queries import configuration, sweep
from workers.fleet.probe import ThisMachine
from workers.jobs import run
from workers.jobs.device import register

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(autouse=True)
def brief(short_searches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def served(here: ThisMachine, names: list[str] | None, forms: Any) -> Any:
        return available(here.spec, names or ["onnxruntime"], forms)

    monkeypatch.setattr(tune, "backends_of", served)
    monkeypatch.setattr(queries, "QUERIES_FROM_S", 1.0)
    monkeypatch.setattr(queries, "QUERY_SHARES", {OFFLINE: 10.0, MULTI_STREAM: 10.0})
    monkeypatch.setattr(configuration, "_FEWEST_PROCESSES", 1)
    monkeypatch.setattr(configuration, "_MOST_PROCESSES", 1)
    monkeypatch.setattr(configuration, "_ROUNDS", 1)
    monkeypatch.setattr(sweep, "_LEAST_S", 0.001)


def test_builds_of_all_scenarios_are_published_side_by_side(alice: User) -> None:
    here = register()
    mlmodel = make_mlmodel(
        "alice/net", actor=alice, files={"README.md": readme(), "model.onnx": tiny_onnx()}
    )
    run.drain([JobKind.INSPECT], here=None)
    run.drain([JobKind.TUNE], here=here)

    job = Job.objects.filter(kind=JobKind.TUNE).earliest("id")
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert job.result["offline"]
    assert job.result["multi_stream"]
    baselines = Build.objects.filter(is_baseline=True, withdrawn_at=None).order_by("scenario")
    several, offline, single = baselines
    scenarios = (Scenario.MULTI_STREAM, Scenario.OFFLINE, Scenario.SINGLE_STREAM)
    assert tuple(build.scenario for build in baselines) == scenarios
    for build, batches in ((offline, {1, 2, 4, 8, 16, 32, 64}), (several, {1, 2, 4, 8})):
        protocol = build.record.document["protocol"]
        assert (protocol["scenario"], build.record.scenario) == (build.scenario, build.scenario)
        assert protocol["batch"]["baseline"] == build.execution["batch"]
        assert {point["batch"] for point in protocol["sweep"]} == batches
        assert build.throughput_per_s
    assert several.record.document["protocol"]["samples_per_run"] == MULTI_STREAM_SAMPLES
    assert single.execution is None
    best = BestBuild.objects.filter(tolerance="exact").values_list("scenario", flat=True)
    assert set(best) == set(scenarios)

    revision = MLModel.objects.get(pk=mlmodel.pk).refs.get(name="main").revision
    for scenario in scenarios:
        wish = LoadRequest(
            here.spec.architecture, here.spec.features, {"onnxruntime"}, "exact", scenario=scenario
        )
        chosen = best_build(revision, wish).build
        assert chosen is not None
        assert chosen.scenario == scenario
