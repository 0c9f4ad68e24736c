"""Jobs, trials, builds, records and targets, read through the client."""

from collections.abc import Callable
from typing import get_args

import pytest

from hpcfair.catalogue import Filters, Sort
from hpcfair.client import Client
from hpcfair.errors import BadInput, Invalid, JobFailed, NotFound
from hpcfair.record import publish_record
from registry.search import vocabulary
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import MLModel, User
from tests.hub.api.scene import Scene, tuned


@pytest.fixture
def scene(data_dir: object, galaxy: MLModel) -> Scene:
    """The public ``lab/galaxy-cnn``, tuned without running anything."""
    return tuned(galaxy)


def test_builds_tell_what_they_are_and_how_fast(as_alice: Client, scene: Scene) -> None:
    builds = as_alice.builds(scene.name)

    best = next(build for build in builds if build.is_best)
    assert best.uuid == str(scene.fast.uuid)
    assert (best.ratio, best.verdict, best.target) == (0.5, "faster", scene.target.slug)
    assert best.ratio_low is not None
    assert best.files[0].url.startswith("/api/v1/builds/")
    assert {build.is_baseline for build in builds} == {True, False}


def test_a_search_shows_the_best_builds(as_alice: Client, scene: Scene) -> None:
    hits = as_alice.search(target=scene.target.slug)

    assert [(hit.name, hit.builds) for hit in hits] == [(scene.name, {scene.target.slug: 0.5})]


def test_a_search_by_speed_tells_the_speed(as_alice: Client, scene: Scene) -> None:
    words: Filters = {"target": scene.target.slug, "tolerance": "int8", "sort": "latency"}
    assert as_alice.search(latency=">5ms", **words).items == ()
    (hit,) = as_alice.search("gain:>=2", latency="<5ms", fair=">0", **words)
    assert hit.speed is not None
    assert (hit.speed.gain, hit.speed.build) == (2, str(scene.fast.uuid))
    assert (hit.speed.latency_ns, hit.speed.default_ns) == (3_000_000, 6_000_000)
    assert hit.state["progress"] == "running"
    assert hit.fair_percent
    assert hit.size_bytes
    with pytest.raises(Invalid, match="There is no target"):
        as_alice.search(target="x86-64")


def test_the_client_has_the_words_of_the_grammar() -> None:
    # Python reserves ``class``; its other name serves.
    words = {*vocabulary.KEYS} - {"class", "licence"}
    assert words == set(Filters.__annotations__)
    assert get_args(Sort) == tuple(vocabulary.SORTS)


def test_a_record_is_what_its_name_says(as_alice: Client, scene: Scene) -> None:
    record = as_alice.record(scene.record.pk)

    assert record.document == scene.record.document
    assert record.mlmodel == scene.name
    assert record.comparison is not None
    assert [found.id for found in as_alice.records(name=scene.name)].count(record.id) == 1


def test_a_record_that_is_not_there_is_not_found(as_alice: Client) -> None:
    with pytest.raises(NotFound):
        as_alice.record("ab" * 32)
    with pytest.raises(BadInput):
        as_alice.record("ab")


def test_a_document_that_is_no_record_is_refused(as_alice: Client, scene: Scene) -> None:
    with pytest.raises(Invalid) as refusal:
        publish_record(as_alice.http, {"schema": "hpcfair.bench/1"})
    assert refusal.value.code == "invalid_record"


def test_jobs_are_listed_and_told_in_full(as_alice: Client, scene: Scene) -> None:
    listed = list(as_alice.jobs(model=scene.name, kind="tune"))

    assert [job.uuid for job in listed] == [str(scene.job.uuid)]
    job = listed[0]
    assert (job.state, job.model, job.target) == ("leased", scene.name, scene.target.slug)
    assert [trial.uuid for trial in job.trials] == [str(scene.trial.uuid)]
    assert "Half way." in [event["message"] for event in job.events]


def test_tuning_asks_for_a_job_that_its_owner_may_cancel(
    client_of: Callable[..., Client], charlie: User, scene: Scene
) -> None:
    owner = client_of(charlie)

    (job,) = owner.tune(scene.name, targets=[scene.target.slug], budget="2min")

    # One is open already, so that one is the answer.
    assert job.uuid == str(scene.job.uuid)
    job.cancel()
    assert owner.job(job.uuid).refresh().state in {"cancelled", "leased"}


def test_a_job_that_waits_is_cancelled_at_once(
    client_of: Callable[..., Client], charlie: User, scene: Scene
) -> None:
    owner = client_of(charlie)
    waiting = job_submit(actor=None, kind=JobKind.INSPECT, revision=scene.revision)

    job = owner.job(str(waiting.uuid))
    assert job.state == "queued"
    assert job.cancel().state == "cancelled"
    with pytest.raises(JobFailed, match="was cancelled"):
        job.refresh().wait()


def test_tuning_for_an_unknown_target_is_refused(
    client_of: Callable[..., Client], charlie: User, scene: Scene
) -> None:
    with pytest.raises((NotFound, Invalid)):
        client_of(charlie).tune(scene.name, targets=["pdp-11"])


def test_targets_are_listed(as_alice: Client, scene: Scene) -> None:
    (target,) = as_alice.targets()

    assert (target.slug, target.architecture, target.enabled) == (
        scene.target.slug,
        "x86-64",
        True,
    )
    assert target.features == ("avx2",)
