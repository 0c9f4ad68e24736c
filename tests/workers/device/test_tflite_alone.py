"""A model published as TensorFlow Lite files alone is inspected, tuned, and has builds."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcfair.choice import LoadRequest
from registry.selectors.results.graph import graph_facts, graph_of
from registry.selectors.results.resolution import resolve
from registry.states import JobKind, JobState, ToleranceClass
from registry.tables import Build, Job, MLModel, Trial, User
from tests.factories import make_mlmodel, readme
from tests.programs import needs
from workers.device import tune
from workers.engine import measure
from workers.engine.requests import SearchBudget
from workers.jobs import run
from workers.jobs.device import register
from workers.testing.tflite import Kind, Layer, write_dense

pytestmark = [needs("ai_edge_litert"), pytest.mark.django_db(transaction=True), pytest.mark.slow]


def written(folder: Path, kind: Kind) -> bytes:
    """A network of three dense layers as a ``.tflite`` file."""
    rng = np.random.default_rng(0)
    layers = [
        Layer(rng.standard_normal(pair).astype(np.float32) / 32, np.zeros(pair[1], np.float32))
        for pair in pairwise((64, 1024, 1024, 16))
    ]
    calibration = rng.standard_normal((64, 64)).astype(np.float32)
    return write_dense(folder / kind, layers, kind, calibration=calibration).read_bytes()


@pytest.fixture
def little_is_timed(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough to try each file, and no more: how fast they are is not looked at."""

    def short(**given: Any) -> SearchBudget:
        little = {
            "seconds_per_measurement": 0.3,
            "confirmation_seconds": 0.5,
            "confirmation_processes": 3,
        }
        return SearchBudget(**given | little)

    settings.TUNE_BUDGET_S = 3
    monkeypatch.setattr(tune, "SearchBudget", short)
    # A processor without instructions for int8 would give its file up before its outputs are seen.
    monkeypatch.setattr(measure, "FIRST_RUNS_FACTOR", 1e6)


@pytest.mark.usefixtures("little_is_timed")
def test_it_is_compared_with_its_float_file_and_served(alice: User, tmp_path: Path) -> None:
    here = register()
    files = {
        "README.md": readme(),
        "model.tflite": written(tmp_path, "float32"),
        "model-int8.tflite": written(tmp_path, "int8"),
    }
    mlmodel = make_mlmodel("alice/net", actor=alice, files=files)
    run.drain([JobKind.INSPECT], here=None)
    revision = MLModel.objects.get(pk=mlmodel.pk).refs.get(name="main").revision
    graph = graph_of(revision)
    assert graph is not None
    assert (graph.path, graph_facts(graph).format) == ("model.tflite", "tflite")
    assert run.drain([JobKind.TUNE], here=here) == 1
    job = Job.objects.filter(kind=JobKind.TUNE).earliest("id")
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    builds = Build.objects.filter(withdrawn_at=None)
    assert {build.runtime for build in builds} == {"litert"}
    baseline = builds.get(is_baseline=True)
    assert baseline.tolerance == ToleranceClass.EXACT
    assert baseline.record.document["correctness"]["reference"].startswith("litert ")
    # How fast it is depends on the machine; that its outputs were compared does not.
    trials = Trial.objects.filter(tolerance=ToleranceClass.INT8).exclude(deviation={})
    lowered = [trial.deviation for trial in trials]
    assert lowered, list(Trial.objects.values_list("candidate", "outcome", "failure_detail"))
    assert all(0 < deviation["max_relative"] < 0.5 for deviation in lowered)
    # No compiler of ONNX has anything to do with it.
    assert not Job.objects.filter(kind__in=[JobKind.SCHEDULE, JobKind.PASSES]).exists()
    answer = resolve(
        revision,
        LoadRequest(
            architecture=here.spec.architecture,
            features=here.spec.features,
            runtimes={"litert": "2"},
            tolerance="int8",
        ),
    )
    assert answer.choice.build is not None
    assert answer.choice.build.runtime == "litert"
