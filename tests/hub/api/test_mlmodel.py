"""Models over HTTP: made, told about, changed, found, deleted."""

from urllib.parse import urlencode

import pytest
from pytest_django import DjangoAssertNumQueries

from registry.selectors.repository.revision import revision_get
from registry.services.storage.blob import blob_store_bytes
from registry.tables import MLModel, User
from tests.factories import commit_files, make_mlmodel, readme
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene
from tests.registry import shopfloor


def test_a_model_is_made_with_a_first_revision(as_alice: Api) -> None:
    made = as_alice.post("models", {"namespace": "alice", "name": "digits"}).ok(201)
    assert made["name"] == "alice/digits"
    # Public as soon as its first files have passed their checks.
    assert (made["visibility"], made["is_held"]) == ("private", True)
    assert made["not_runnable"]["code"] == "no_model_file"
    assert [file["path"] for file in made["files"]] == [".gitattributes"]
    assert made["refs"] == [{"kind": "branch", "name": "main", "revision": made["revision"]}]
    assert made["graph"] is None
    assert made["inspection"] is None


def test_a_pickle_named_like_a_network_leaves_no_public_model(
    as_alice: Api, anonymous: Api, alice: User
) -> None:
    as_alice.post("models", {"namespace": "alice", "name": "digits"}).ok(201)
    blob = blob_store_bytes(actor=alice, data=b"\x80\x04K\x01.")
    operation = {"op": "add", "path": "model.onnx", "sha256": blob.sha256}
    answer = as_alice.post(
        "models/alice/digits/commits", {"message": "Add", "operations": [operation]}
    )
    assert (answer.status, answer.code) == (400, "onnx_unreadable")
    assert "pickle" in answer.json["detail"]
    assert anonymous.get("models/alice/digits").status == 404


def test_a_taken_name_is_a_conflict(as_charlie: Api, galaxy: MLModel) -> None:
    answer = as_charlie.post("models", {"namespace": "LAB", "name": "Galaxy-CNN"})
    assert (answer.status, answer.code) == (409, "model_exists")


def test_nobody_makes_a_model_in_another_persons_namespace(as_alice: Api, bob: User) -> None:
    answer = as_alice.post("models", {"namespace": "bob", "name": "mine"})
    assert (answer.status, answer.code) == (403, "permission_denied")


def test_all_of_a_tuned_model_is_told(anonymous: Api, scene: Scene) -> None:
    told = anonymous.get("models/lab/galaxy-cnn").ok()
    assert told["task"] == "image-classification"
    assert told["license"] == "Apache-2.0"
    assert told["tags"] == ["astronomy"]
    assert told["card"]["library_name"] == "onnx"
    assert told["readme"].startswith("# A model")
    assert told["signature"] == "float32[N,3] -> float32[N,10]"
    assert told["graph"]["operators"] == {"Conv": 1}
    assert told["parameters"] == 10
    assert told["builds"] == {scene.target.slug: 0.5}
    assert told["inspection"]["state"] == "queued"
    assert {file["path"] for file in told["files"]} == {".gitattributes", "README.md", "model.onnx"}


def test_every_file_of_a_model_can_be_fetched_from_its_url(anonymous: Api, galaxy: MLModel) -> None:
    commit_files(galaxy, {"odd dir/ä #1?.txt": "odd"})
    for file in anonymous.get("models/lab/galaxy-cnn").ok()["files"]:
        answer = anonymous.get(file["url"])
        assert answer.status == 200
        assert answer.headers["ETag"] == f'"{file["sha256"]}"'
        assert len(answer.content) == file["size_bytes"]


def test_names_compare_without_case_but_keep_theirs(anonymous: Api, galaxy: MLModel) -> None:
    assert anonymous.get("models/LAB/Galaxy-Cnn").ok()["name"] == "lab/galaxy-cnn"


def test_an_older_revision_is_told_on_request(anonymous: Api, galaxy: MLModel) -> None:
    before = anonymous.get("models/lab/galaxy-cnn").ok()["revision"]
    commit_files(galaxy, {"model.onnx": None})
    now = anonymous.get("models/lab/galaxy-cnn").ok()
    then = anonymous.get(f"models/lab/galaxy-cnn?revision={before}").ok()
    assert "model.onnx" not in {file["path"] for file in now["files"]}
    assert "model.onnx" in {file["path"] for file in then["files"]}
    assert then["revision"] == before


def test_visibility_can_be_changed_by_who_may_write(
    as_charlie: Api, as_alice: Api, anonymous: Api, galaxy: MLModel
) -> None:
    assert as_alice.patch("models/lab/galaxy-cnn", {"visibility": "private"}).status == 403
    changed = as_charlie.patch("models/lab/galaxy-cnn", {"visibility": "private"}).ok()
    assert changed["visibility"] == "private"
    assert anonymous.get("models/lab/galaxy-cnn").code == "model_not_found"


def test_a_misspelt_field_is_refused_not_ignored(as_charlie: Api, galaxy: MLModel) -> None:
    answer = as_charlie.patch("models/lab/galaxy-cnn", {"visiblity": "private"})
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert answer.json["fields"] == {"visiblity": "No such field. Did you mean visibility?"}


def test_a_deleted_model_is_gone(as_charlie: Api, scene: Scene) -> None:
    assert as_charlie.delete("models/lab/galaxy-cnn").status == 204
    assert as_charlie.get("models/lab/galaxy-cnn").code == "model_not_found"
    assert as_charlie.get(f"builds/{scene.fast.uuid}").code == "build_not_found"
    assert as_charlie.get(f"records/{scene.record.pk}").code == "record_not_found"


def test_a_search_finds_and_counts(anonymous: Api, scene: Scene, secret: MLModel) -> None:
    found = anonymous.get("models?q=galaxy&task=image-classification").ok()
    assert [item["name"] for item in found["items"]] == ["lab/galaxy-cnn"]
    assert found["total"] == 1
    assert found["next"] is None
    assert found["facets"]["license"] == [["apache-2.0", 1]]
    assert found["items"][0]["builds"] == {scene.target.slug: 0.5}
    assert anonymous.get("models").ok()["total"] == 1


def test_a_search_by_speed_tells_the_speed_on_that_target(anonymous: Api, scene: Scene) -> None:
    query = {
        "target": scene.target.slug,
        "tolerance": "int8",
        "latency": "<5ms",
        "gain": ">=2x",
        "size": "<1GB",
        "fair": ">0",
        "class": "plain-cnn",
        "by": "lab",
        "sort": "gain",
    }
    told = anonymous.get(f"models?{urlencode(query)}").ok()
    (item,) = told["items"]
    assert item["speed"] == {
        "build": str(scene.fast.uuid),
        "target": scene.target.slug,
        "scenario": "single-stream",
        "latency_ns": 3_000_000,
        "default_ns": 6_000_000,
        "gain": 2.0,
        "gain_low": pytest.approx(1 / scene.record.ratio_high),
        "gain_high": pytest.approx(1 / scene.record.ratio_low),
        "tolerance": "exact",
        "accuracy": None,
        "accuracy_reference": None,
        "throughput_per_s": None,
        "execution": None,
    }
    assert item["state"] == {"progress": "running", "reason": ""}
    assert item["size_bytes"] > 0
    assert item["fair_percent"] > 0
    assert (item["similarity"], told["hints"]) == (None, [])
    assert anonymous.get(f"models?{urlencode(query | {'gain': '>2'})}").ok()["items"] == []


def test_a_misspelt_filter_or_order_is_told_the_right_one(anonymous: Api) -> None:
    fields = anonymous.get("models?latensy=%3C5ms").json["fields"]
    assert fields == {"latensy": "No such field. Did you mean latency?"}
    (order,) = anonymous.get("models?sort=latensy").json["fields"].values()
    assert order.startswith('"latensy" is no order. Orders are relevance, updated, ')


def test_an_empty_search_hints_at_what_there_is(anonymous: Api, scene: Scene) -> None:
    told = anonymous.get("models?task=image-clasification").ok()
    assert told["total"] == 0
    assert "Did you mean image-classification?" in told["hints"][0]


def test_a_similar_model_is_told_with_its_score(
    anonymous: Api, scene: Scene, secret: MLModel, as_charlie: Api
) -> None:
    shopfloor.make_graph(revision_get(secret))
    (item,) = as_charlie.get("models?similar=lab/galaxy-cnn").ok()["items"]
    assert item["name"] == "lab/secret"
    assert item["similarity"] == {
        "score": 1.0,
        "alike": ["same structure", "same inputs and outputs"],
    }


def test_members_find_their_private_models(as_charlie: Api, secret: MLModel) -> None:
    assert [item["name"] for item in as_charlie.get("models").ok()["items"]] == ["lab/secret"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("q=tsk:x", "invalid_query"),
        ("signature=float33[1]", "invalid_signature"),
        ("cursor=nonsense", "invalid_cursor"),
        ("limit=0", "invalid_request"),
        ("limit=101", "invalid_request"),
        ("sort=random", "invalid_request"),
        ("latency=5ms", "invalid_query"),
        ("target=x86", "invalid_query"),
        ("class=cnn", "invalid_query"),
        ("licence=mit", "invalid_request"),
    ],
)
def test_a_search_that_cannot_be_understood_says_so(anonymous: Api, query: str, code: str) -> None:
    answer = anonymous.get(f"models?{query}")
    assert (answer.status, answer.code) == (400, code)


def test_the_catalogue_pages_through_everything_once(as_alice: Api, alice: User) -> None:
    for number in range(5):
        make_mlmodel(f"alice/m{number}", actor=alice, files={"README.md": readme()})
    names = [item["name"] for item in as_alice.all("models?sort=name", limit=2)]
    assert names == [f"alice/m{number}" for number in range(5)]


def test_a_longer_catalogue_costs_no_more_queries(
    anonymous: Api,
    scene: Scene,
    alice: User,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    anonymous.get("models")  # lets the index catch up
    with django_assert_max_num_queries(14) as counted:
        assert len(anonymous.get("models").ok()["items"]) == 1
        few = len(counted)
    for number in range(5):
        make_mlmodel(f"alice/m{number}", actor=alice, files={"README.md": readme()})
    anonymous.get("models")  # lets the index catch up
    with django_assert_max_num_queries(few):
        assert len(anonymous.get("models").ok()["items"]) == 6
