"""What cards show: speed on a target within a tolerance class, and the state of tuning."""

from typing import Any

import pytest

from registry.selectors.repository.head import heads_of
from registry.selectors.search.catalogue import catalogue_search
from registry.selectors.search.entry import entries_of
from registry.selectors.search.speeds import (
    TuningProgress,
    TuningState,
    best_rows,
    speeds_of,
    states_at,
)
from registry.services.results.best import best_builds_update
from registry.services.work.attempt import job_fail
from registry.states import FailureClass, JobState
from registry.tables import BestBuild, Build, Job, MLModel
from tests.hub.api.scene import tuned
from tests.registry import shopfloor
from tests.registry.results.test_best import Builds
from tests.registry.search import rows
from tests.registry.searched import searched_floor

pytestmark = pytest.mark.django_db


def states(*mlmodels: MLModel) -> list[TuningState]:
    heads = heads_of(mlmodels)
    tuned_keys = {row.mlmodel_id for row in best_rows(mlmodels, {"int8"})}
    return list(states_at({each.pk: heads.get(each.pk) for each in mlmodels}, tuned_keys).values())


def progress(*mlmodels: MLModel) -> list[str]:
    return [each.progress for each in states(*mlmodels)]


def test_the_speed_is_of_the_best_build_within_the_class() -> None:
    floor = searched_floor()
    mlmodel = floor.revision.mlmodel
    fast = Build.objects.get(tolerance="int8")
    speed = speeds_of([mlmodel], shopfloor.SLUG, "int8")[mlmodel.pk]
    assert (speed.build, speed.target, speed.tolerance) == (str(fast.uuid), shopfloor.SLUG, "int8")
    assert (speed.latency_ns, speed.default_ns, speed.gain) == (3_000_000, 3_750_000, 1 / 0.8)
    assert (speed.accuracy, speed.accuracy_reference) == (0.97, 0.98)
    assert speed.low is not None
    assert speed.high is not None
    assert speed.low < speed.high
    default = speeds_of([mlmodel])[mlmodel.pk]
    assert (default.gain, default.low, default.high, default.tolerance) == (1, None, None, "exact")
    assert default.default_ns == default.latency_ns
    assert speeds_of([mlmodel], "nvidia-h200") == speeds_of([]) == {}


def test_without_a_target_it_is_the_one_of_the_lowest_latency() -> None:
    builds = Builds(shopfloor.floor())
    other, _ = shopfloor.make_machine("x86-64-avx2", name="laptop")
    builds.baseline(p50_ns=900)
    builds.baseline(other, p50_ns=800)
    mlmodel = builds.floor.revision.mlmodel
    best_builds_update(mlmodel)
    assert speeds_of([mlmodel])[mlmodel.pk].target == "x86-64-avx2"


def test_a_page_of_speeds_takes_one_query(django_assert_num_queries: Any) -> None:
    mlmodels = [searched_floor().revision.mlmodel]
    with django_assert_num_queries(1):
        assert len(speeds_of(mlmodels, shopfloor.SLUG, "int8")) == 1


def test_a_search_goes_through_its_states() -> None:
    floor = shopfloor.floor()
    mlmodel = floor.revision.mlmodel
    untuned = rows.mlmodel("lab/no-network")
    assert progress(mlmodel, untuned) == ["untuned", "not_runnable"]
    floor.tune()
    assert progress(mlmodel) == ["waiting"]
    ticket = floor.claim()
    assert progress(mlmodel) == ["running"]
    failure = {"failure_class": FailureClass.INVALID, "code": "no_backend", "detail": "No backend."}
    job_fail(job_uuid=ticket.job_uuid, fence=ticket.fence, **failure)
    assert states(mlmodel) == [TuningState(TuningProgress.FAILED, "No backend.")]
    floor.tune()
    assert progress(mlmodel) == ["waiting"]
    waiting = Job.objects.filter(state=JobState.QUEUED)
    waiting.update(parameters={"repeats": ticket.job_uuid})
    assert progress(mlmodel) == ["failed"]
    waiting.update(state=JobState.CANCELLED, parameters={})
    assert progress(mlmodel) == ["untuned"]


def test_a_tuned_model_stays_tuned_when_a_later_search_fails() -> None:
    floor = searched_floor()
    mlmodel = floor.revision.mlmodel
    assert progress(mlmodel) == ["tuned"]
    floor.tune()
    ticket = floor.claim()
    assert progress(mlmodel) == ["running"]
    job_fail(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        failure_class=FailureClass.CRASH,
        code="no_backend",
        detail="",
    )
    assert progress(mlmodel) == ["tuned"]


def test_what_cannot_run_says_why_and_what_to_do() -> None:
    (state,) = states(rows.mlmodel("lab/weights"))
    assert "no ONNX or TensorFlow Lite file" in state.reason
    assert "Export" in state.reason


def test_entries_have_all_that_a_card_shows(galaxy: MLModel) -> None:
    scene = tuned(galaxy)
    page = catalogue_search(None, query=f"target:{scene.target.slug} tolerance:int8 latency:<5ms")
    (entry,) = entries_of(page)
    assert entry.mlmodel == galaxy
    assert entry.speed is not None
    assert (entry.speed.gain, entry.speed.build) == (2, str(scene.fast.uuid))
    # The scene's search has not ended, and its model is not inspected.
    assert entry.state.progress == TuningProgress.RUNNING
    assert entry.fair_percent is not None
    assert entry.revision is not None
    assert entry.revision.size_bytes > 0
    assert (entry.parameters, entry.similarity) == (10, None)
    assert entry.signature == "float32[N,3] -> float32[N,10]"
    assert BestBuild.objects.count() == 4


def test_a_page_of_any_length_costs_the_same(
    galaxy: MLModel, django_assert_max_num_queries: Any
) -> None:
    tuned(galaxy)
    page = catalogue_search(None)
    with django_assert_max_num_queries(20) as counted:
        entries_of(page)
        few = len(counted)
    for number in range(5):
        rows.graph(rows.mlmodel(f"lab/n{number}"))
    page = catalogue_search(None)
    assert len(page.items) == 6
    with django_assert_max_num_queries(few):
        entries_of(page)
