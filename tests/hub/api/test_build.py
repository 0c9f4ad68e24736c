"""Builds and graphs over HTTP."""

from pytest_django import DjangoAssertNumQueries

from registry.services.results.build import builds_publish
from registry.tables import Build, MLModel
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene
from tests.registry import shopfloor


def test_builds_are_listed_fastest_first(anonymous: Api, scene: Scene) -> None:
    fast, baseline = anonymous.get("models/lab/galaxy-cnn/builds").ok()["items"]
    assert (fast["ratio"], fast["is_best"], fast["is_baseline"]) == (0.5, True, False)
    assert (baseline["ratio"], baseline["is_best"], baseline["is_baseline"]) == (1.0, False, True)
    assert fast["backend"] == "onnxruntime"
    assert fast["target"] == scene.target.slug
    assert fast["ratio_low"] == scene.record.ratio_low
    assert fast["record_id"] == scene.record.pk
    assert anonymous.get(f"builds/{fast['uuid']}").ok() == fast


def test_builds_of_one_target_only(anonymous: Api, scene: Scene) -> None:
    path = "models/lab/galaxy-cnn/builds"
    assert len(anonymous.get(f"{path}?target={scene.target.slug}").ok()["items"]) == 2
    shopfloor.make_machine("arm64-generic", name="arm")
    assert anonymous.get(f"{path}?target=arm64-generic").ok()["items"] == []
    assert anonymous.get(f"{path}?target=nothing").code == "target_not_found"


def test_builds_are_listed_within_a_class_a_number_or_a_least_accuracy(
    anonymous: Api, scene: Scene
) -> None:
    path = "models/lab/galaxy-cnn/builds"
    deviation = {"max_absolute": 0.9, "relative_l2": 0.0137, "random_relative_l2": 0.4}
    Build.objects.filter(pk=scene.fast.pk).update(
        tolerance="bf16", deviation=deviation, accuracy=0.97
    )
    Build.objects.filter(pk=scene.baseline.pk).update(deviation={"relative_l2": 1e-6})
    fast, baseline = str(scene.fast.uuid), str(scene.baseline.uuid)
    cases = {
        "": [fast, baseline],
        "tolerance=bf16": [fast, baseline],
        "tolerance=exact": [baseline],
        "tolerance=0.02": [fast, baseline],
        "tolerance=0.01": [baseline],
        "tolerance=0": [],
        "min_accuracy=0.9": [fast],
        "tolerance=0.01&min_accuracy=0.9": [],
    }
    for query, uuids in cases.items():
        items = anonymous.get(f"{path}?{query}").ok()["items"]
        assert [item["uuid"] for item in items] == uuids, query
    by_uuid = {item["uuid"]: item for item in anonymous.get(path).ok()["items"]}
    assert (by_uuid[fast]["relative_error"], by_uuid[fast]["limit"]) == (0.0137, 0.014)
    assert (by_uuid[baseline]["relative_error"], by_uuid[baseline]["limit"]) == (1e-6, 1e-6)
    for query in ("tolerance=fp3", "tolerance=nan", "tolerance=-1", "tolerance=1.1", "tolerance=t"):
        answer = anonymous.get(f"{path}?{query}")
        assert (answer.status, list(answer.json["fields"])) == (400, ["tolerance"]), query
    Build.objects.update(accuracy=None)
    assert anonymous.get(f"{path}?min_accuracy=0.5").code == "accuracy_not_measured"


def test_what_a_newer_search_replaced_stays_readable(anonymous: Api, scene: Scene) -> None:
    held = {"job_uuid": str(scene.job.uuid), "fence": scene.job.fence}
    builds_publish(
        **held,
        builds=[
            shopfloor.build(
                scene.baseline.record_id, "all", is_baseline=True, ratio=1.0, verdict="same"
            )
        ],
    )
    (left,) = anonymous.get("models/lab/galaxy-cnn/builds").ok()["items"]
    assert (left["is_baseline"], left["is_best"]) == (True, True)
    old = anonymous.get(f"builds/{scene.fast.uuid}").ok()
    assert old["withdrawn_at"]
    assert not old["is_best"]


def test_where_the_time_of_a_build_goes_is_told(anonymous: Api, scene: Scene) -> None:
    told = anonymous.get(f"builds/{scene.fast.uuid}/profile").ok()
    assert (told["total_ns"], told["sum_ns"], told["gap_ns"]) == (100, 95, 5)
    assert told["reconciled"]
    assert told["precisions"] == {"bfloat16": 90, "float32": 5}
    assert told["coverage"] == {"nodes": 5, "exact": 2, "inferred": 1, "shared": 1, "folded": 1}
    assert [site["name"] for site in told["hottest"]] == ["stem", "head", "reorder"]
    assert told["hottest"][0]["kernel"]["code"].keys() == {"asm"}
    sites = anonymous.all(f"builds/{scene.fast.uuid}/call-sites", limit=2)
    assert [site["name"] for site in sites] == ["reorder", "stem", "head"]
    assert sites[-1]["nodes"] == [{"index": 2, "grade": "exact"}, {"index": 3, "grade": "shared"}]


def test_a_build_without_a_profile_says_so(anonymous: Api, scene: Scene) -> None:
    for what in ("profile", "call-sites"):
        answer = anonymous.get(f"builds/{scene.baseline.uuid}/{what}")
        assert (answer.status, answer.code) == (404, "profile_not_found")


def test_builds_and_a_profile_cost_few_queries(
    anonymous: Api, scene: Scene, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(8):
        anonymous.get("models/lab/galaxy-cnn/builds").ok()
    with django_assert_max_num_queries(10):
        anonymous.get(f"builds/{scene.fast.uuid}/profile").ok()


def test_a_graph_is_told(anonymous: Api, scene: Scene) -> None:
    told = anonymous.get("models/lab/galaxy-cnn/graph").ok()
    assert told["signature"] == "float32[N,3] -> float32[N,10]"
    assert told["inputs"] == scene.graph.signature["inputs"]
    assert told["facts"]["opsets"] == {"ai.onnx": 21}
    assert told["macs"] is None


def test_a_graph_nobody_has_read_is_not_found(anonymous: Api, galaxy: MLModel) -> None:
    assert anonymous.get("models/lab/galaxy-cnn/graph").code == "graph_not_found"
