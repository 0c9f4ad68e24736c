"""Test tensors and builds run again, over the API."""

from pytest_django import DjangoAssertNumQueries

from registry.services.results.reproduction import reproduction_add
from registry.services.work.attempt import job_claim
from registry.services.work.job import job_submit
from registry.states import JobKind, TensorSide
from registry.tables import TestTensor
from tests.factories import store
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene

PATH = "models/lab/galaxy-cnn/tests"


def add_set(scene: Scene, number: int = 0) -> None:
    for side in (TensorSide.INPUT, TensorSide.OUTPUT):
        TestTensor.objects.create(
            graph=scene.graph,
            number=number,
            side=side,
            index=0,
            name="x" if side == TensorSide.INPUT else "y",
            blob=store(f"{side} {number}".encode()),
            is_made=True,
        )


def run_again(scene: Scene, outcome: str = "reproduced") -> None:
    """Both builds, by one job."""
    job_submit(actor=None, kind=JobKind.REPRODUCE, revision=scene.revision, target=scene.target)
    ticket = job_claim(device_name="floor-1", kinds=[JobKind.REPRODUCE], target=scene.target.slug)
    assert ticket is not None
    for build in (scene.baseline, scene.fast):
        reproduction_add(
            str(build.uuid),
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            tools={"python": "3.13.1"},
            outcome=outcome,
            deviation={"max_relative": 1e-6},
        )


def test_tests_are_listed_by_set_with_addresses_that_work(anonymous: Api, scene: Scene) -> None:
    add_set(scene)
    add_set(scene, 1)
    told = anonymous.get(PATH).ok()
    assert told["revision"] == scene.revision.oid
    assert [(one["number"], one["is_made"]) for one in told["sets"]] == [(0, True), (1, True)]
    first, second = told["sets"][0]["tensors"]
    assert (first["side"], first["name"], second["side"]) == ("input", "x", "output")
    answer = anonymous._client.get(first["url"])
    assert b"".join(answer) == b"input 0"
    assert anonymous.get(f"{PATH}?revision={scene.revision.oid[:9]}").ok() == told


def test_a_network_without_tests_says_so(anonymous: Api, scene: Scene) -> None:
    assert anonymous.get(PATH).ok()["sets"] == []
    assert anonymous.get(f"{PATH}?revision=none").code == "revision_not_found"


def test_a_private_models_tests_are_not_there_for_strangers(
    as_alice: Api, secret_scene: Scene
) -> None:
    assert as_alice.get("models/lab/secret/tests").code == "model_not_found"
    missing = as_alice.get(f"builds/{secret_scene.fast.uuid}/reproductions")
    assert missing.code == "build_not_found"


def test_builds_tell_whether_they_were_reproduced(anonymous: Api, scene: Scene) -> None:
    builds = "models/lab/galaxy-cnn/builds"
    assert [one["reproduced"] for one in anonymous.get(builds).ok()["items"]] == [None, None]
    run_again(scene)
    assert [one["reproduced"] for one in anonymous.get(builds).ok()["items"]] == [True, True]
    (told,) = anonymous.get(f"builds/{scene.fast.uuid}/reproductions").ok()["items"]
    assert (told["outcome"], told["tools"]) == ("reproduced", {"python": "3.13.1"})
    assert (told["device"], told["deviation"]) == ("floor-1", {"max_relative": 1e-6})


def test_a_build_that_differs_says_so(anonymous: Api, scene: Scene) -> None:
    run_again(scene, "differs")
    assert anonymous.get(f"builds/{scene.fast.uuid}").ok()["reproduced"] is False


def test_many_tests_cost_few_queries(
    anonymous: Api, scene: Scene, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(4):
        add_set(scene, number)
        with django_assert_max_num_queries(7):
            anonymous.get(PATH).ok()
