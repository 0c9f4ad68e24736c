"""Work over HTTP: asked for, watched, called off; its trials."""

from pytest_django import DjangoAssertNumQueries

from registry.selectors.repository.revision import revision_get
from registry.services.results.trial import trial_add
from registry.services.work.attempt import job_fail
from registry.services.work.job import job_submit
from registry.states import FailureClass, JobKind
from registry.tables import MLModel
from tests.factories import make_mlmodel, tiny_onnx
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene, tuned
from tests.registry import shopfloor

TUNE = "models/lab/galaxy-cnn/tune"


def test_a_running_job_tells_where_it_is(anonymous: Api, scene: Scene) -> None:
    told = anonymous.get(f"jobs/{scene.job.uuid}").ok()
    assert (told["kind"], told["state"]) == ("tune", "leased")
    assert (told["model"], told["revision"]) == ("lab/galaxy-cnn", scene.revision.oid)
    assert (told["target"], told["device"]) == (scene.target.slug, "floor-1")
    assert told["queue_position"] is None
    assert told["failure"] is None


def test_a_failed_job_tells_why(anonymous: Api, scene: Scene) -> None:
    job_fail(
        job_uuid=str(scene.job.uuid),
        fence=scene.job.fence,
        failure_class=FailureClass.TIMEOUT,
        code="job_timeout",
        detail="It took too long.",
    )
    told = anonymous.get(f"jobs/{scene.job.uuid}").ok()
    assert told["state"] == "failed"
    assert told["failure"] == {
        "class": "timeout",
        "code": "job_timeout",
        "detail": "It took too long.",
    }


def test_jobs_are_filtered_and_paged(anonymous: Api, scene: Scene, secret_scene: Scene) -> None:
    assert [job["kind"] for job in anonymous.all("jobs", limit=1)] == ["tune", "inspect"]
    for query, count in {
        "state=leased": 1,
        "kind=inspect": 1,
        f"target={scene.target.slug}": 1,
        "target=other": 0,
        "model=LAB/galaxy-cnn": 2,
        "model=lab/secret": 0,
        "model=nonsense": 0,
        "state=": 2,
    }.items():
        assert len(anonymous.get(f"jobs?{query}").ok()["items"]) == count, query
    assert anonymous.get("jobs?state=asleep").code == "invalid_request"


def test_places_in_the_queue_are_told_in_two_queries(
    anonymous: Api, as_alice: Api, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(4):
        make_mlmodel(f"alice/m{number}", files={"model.onnx": tiny_onnx()})
    with django_assert_max_num_queries(5):
        jobs = anonymous.get("jobs").ok()["items"]
    assert [job["queue_position"] for job in jobs] == [4, 3, 2, 1]
    for job in jobs:
        assert anonymous.get(f"jobs/{job['uuid']}").ok() == job


def test_an_urgent_job_goes_before_an_older_one(anonymous: Api, galaxy: MLModel) -> None:
    revision = revision_get(galaxy)
    shopfloor.make_graph(revision)
    target, _ = shopfloor.make_machine()
    job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target, priority=1)
    tune, inspect = anonymous.get("jobs").ok()["items"]
    assert (tune["queue_position"], inspect["queue_position"]) == (1, 1)
    assert inspect["wait_reason"] == "next for a free worker"
    assert tune["wait_reason"].startswith(("next for", "no device"))


def test_tuning_is_asked_for_by_who_may_write(
    as_charlie: Api, as_alice: Api, anonymous: Api, galaxy: MLModel
) -> None:
    shopfloor.make_graph(revision_get(galaxy))
    target, _ = shopfloor.make_machine()
    assert anonymous.post(TUNE, {}).code == "not_authenticated"
    assert as_alice.post(TUNE, {}).code == "permission_denied"
    wishes = {"targets": [target.slug], "budget_s": 60, "strategy": "random"}
    (job,) = as_charlie.post(TUNE, wishes).ok(202)["items"]
    assert (job["state"], job["queue_position"]) == ("queued", 1)
    assert job["parameters"] == {"budget_s": 60, "strategy": "random"}
    (again,) = as_charlie.post(TUNE, {}).ok(202)["items"]
    assert again["uuid"] == job["uuid"]


def test_tuning_that_cannot_be_is_refused(as_charlie: Api, scene: Scene) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"targets": ["nothing"]}, "target_not_found"),
        ({"targets": "x86"}, "invalid_request"),
        ({"budget_s": 10**9}, "invalid_request"),
        ({"budget_s": -1}, "invalid_request"),
        ({"revision": "nothing"}, "revision_not_found"),
        ({"seed": 1}, "invalid_request"),
    ]
    for wishes, code in cases:
        assert as_charlie.post(TUNE, wishes).code == code, wishes


def test_tuning_needs_somebody_to_do_it(as_charlie: Api, galaxy: MLModel) -> None:
    assert as_charlie.post(TUNE, {}).code == "graph_not_found"
    shopfloor.make_graph(revision_get(galaxy))
    assert as_charlie.post(TUNE, {}).code == "invalid_target"


def test_a_waiting_job_is_cancelled_at_once(as_charlie: Api, galaxy: MLModel) -> None:
    (job,) = as_charlie.get("jobs").ok()["items"]
    assert as_charlie.post(f"jobs/{job['uuid']}/cancel").ok()["state"] == "cancelled"
    assert as_charlie.post(f"jobs/{job['uuid']}/cancel").ok()["state"] == "cancelled"


def test_a_running_job_is_asked_to_stop(as_charlie: Api, as_alice: Api, scene: Scene) -> None:
    path = f"jobs/{scene.job.uuid}/cancel"
    assert as_alice.post(path).code == "permission_denied"
    told = as_charlie.post(path, {}).ok()
    assert (told["state"], told["cancel_requested"]) == ("leased", True)


def test_a_log_is_read_from_its_beginning(anonymous: Api, scene: Scene) -> None:
    lines = anonymous.all(f"jobs/{scene.job.uuid}/events", limit=1)
    assert [line["message"] for line in lines][-1] == "Half way."
    assert lines == sorted(lines, key=lambda line: int(line["id"]))


def test_trials_are_listed_without_their_samples(anonymous: Api, scene: Scene) -> None:
    for number in (2, 3):
        trial_add(
            job_uuid=str(scene.job.uuid),
            fence=scene.job.fence,
            trial=shopfloor.trial(number, f"t{number}", measurement={"blocks": [[1, 2]]}),
        )
    trials = anonymous.all(f"jobs/{scene.job.uuid}/trials", limit=2)
    assert [trial["number"] for trial in trials] == [1, 2, 3]
    assert "measurement" not in trials[2]
    detail = anonymous.get(f"trials/{trials[2]['uuid']}").ok()
    assert detail["measurement"] == {"blocks": [[1, 2]]}
    assert {**trials[2], "measurement": detail["measurement"]} == detail


def test_a_cursor_of_one_job_does_not_read_another(
    anonymous: Api, scene: Scene, charlie: object
) -> None:
    trial_add(job_uuid=str(scene.job.uuid), fence=scene.job.fence, trial=shopfloor.trial(2, "half"))
    cursor = anonymous.get(f"jobs/{scene.job.uuid}/trials?limit=1").ok()["next"]
    other = tuned(make_mlmodel("charlie/other", files={"model.onnx": tiny_onnx()}))
    answer = anonymous.get(f"jobs/{other.job.uuid}/trials?cursor={cursor}")
    assert answer.code == "invalid_cursor"
