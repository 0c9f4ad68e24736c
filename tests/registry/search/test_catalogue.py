"""Finding models by words, filters and tensors."""

from typing import Any

import pytest

from registry.errors import Invalid
from registry.selectors.search.catalogue import MAX_LIMIT, catalogue_search
from registry.storage import blob_store
from tests.factories import commit_files, readme
from tests.registry.search import rows
from tests.registry.search.rows import publish

pytestmark = pytest.mark.django_db


def found(query: str = "", actor: Any = None, **options: Any) -> list[str]:
    """Full names of the first page."""
    return rows.names(catalogue_search(actor, query=query, **options).items)


@pytest.mark.parametrize(
    "query",
    [
        "digits",
        "cnn",
        "lab",
        "dig",
        "lab/digits-cnn",
        "LAB/Digits_CNN",
        "digits-cnn",
        "digitsc",
    ],
)
def test_any_part_of_a_name_and_its_beginning_find_it(query: str) -> None:
    publish("lab/digits-cnn")
    publish("alice/galaxies")
    assert found(query) == ["lab/digits-cnn"]


@pytest.mark.parametrize("name", ["resnet50", "ResNet-50", "my_resnet_50"])
@pytest.mark.parametrize("query", ["resnet50", "resnet-50", "ResNet 50"])
def test_a_name_is_found_however_it_is_written(name: str, query: str) -> None:
    publish(f"lab/{name}")
    assert found(query) == [f"lab/{name}"]


@pytest.mark.parametrize(
    "query",
    ["spiral", "arms", "photographs", "vision", "image", "onnx", "mit", '"spiral arms"'],
)
def test_title_description_readme_and_card_are_searched(query: str) -> None:
    publish("lab/other")
    publish(
        "lab/x",
        "# Spiral arms\n\nSorts photographs.\n",
        title="Arms",
        tags=["vision"],
        pipeline_tag="image-classification",
        library_name="onnx",
        license="mit",
    )
    assert found(query) == ["lab/x"]


def test_front_matter_is_not_text() -> None:
    publish("lab/x", language="english")
    assert found("english") == []


def test_all_words_must_be_found_and_phrases_as_they_stand() -> None:
    publish("lab/a", "spiral galaxy with arms")
    publish("lab/b", "galaxy of spiral arms")
    assert sorted(found("spiral galaxy")) == ["lab/a", "lab/b"]
    assert found('"spiral galaxy"') == ["lab/a"]
    assert found('"spiral arms" galaxy') == ["lab/b"]
    assert found("spiral elephant") == []


def test_a_beginning_finds_names_but_not_running_text() -> None:
    publish("lab/category", "about dogs")
    publish("lab/x", "a list of categories")
    assert found("cat") == ["lab/category"]


def test_the_name_counts_more_than_the_readme() -> None:
    publish("lab/text", "galaxy galaxy galaxy")
    publish("lab/galaxy-cnn", "something")
    assert found("galaxy") == ["lab/galaxy-cnn", "lab/text"]


def test_the_full_name_comes_first() -> None:
    publish("lab/bert-base-base", "bert base lab/bert-base", title="lab bert base")
    publish("lab/bert-base")
    assert found("lab/bert-base")[0] == "lab/bert-base"


def test_signs_alone_narrow_nothing() -> None:
    publish("lab/x")
    assert found("& !") == ["lab/x"]


def test_a_lost_readme_leaves_the_rest_findable() -> None:
    mlmodel = publish("lab/x", "elephant", tags=["big"])
    sha256 = mlmodel.refs.get(name="main").revision.files.get(path="README.md").blob_id
    blob_store().delete(sha256)
    assert found("elephant") == found("big") == ["lab/x"]
    rows.announce(mlmodel)
    mlmodel.description = ""
    mlmodel.save()
    assert found("big") == ["lab/x"]
    assert found("elephant") == []


def test_each_filter_chooses_by_its_value_without_case() -> None:
    card = {"pipeline_tag": "image-classification", "library_name": "onnx", "tags": ["Vision"]}
    network = rows.graph(publish("lab/x", license="mit", **card))
    rows.build(network, "x86-64-avx2")
    rows.graph(publish("alice/y", pipeline_tag="other"), architecture_class="transformer")
    asked = {
        "task": "Image-Classification",
        "license": "MIT",
        "library": "ONNX",
        "tag": "vision",
        "architecture_class": "plain-cnn",
        "namespace": "LAB",
        "target": "x86-64-avx2",
    }
    keys = {"architecture_class": "class", "namespace": "by"}
    for name, value in asked.items():
        assert found(**{name: value}) == ["lab/x"]
        assert found(f"{keys.get(name, name)}:{value}") == ["lab/x"]
    assert found("task:other", task="image-classification", tag="none") == []


def test_single_values_are_alternatives_and_tags_add_up() -> None:
    publish("lab/a", license="mit", tags=["x", "y"])
    publish("lab/b", license="apache-2.0", tags=["x"])
    publish("lab/c", license="bsd-3-clause", tags=["x", "y"])
    assert sorted(found(license=["mit", "apache-2.0"])) == ["lab/a", "lab/b"]
    assert sorted(found("license:mit", license="apache-2.0")) == ["lab/a", "lab/b"]
    assert sorted(found(tag=["x", "y"])) == ["lab/a", "lab/c"]
    assert found("tag:y license:mit") == ["lab/a"]


def test_empty_parameters_ask_for_nothing() -> None:
    publish("lab/x")
    assert found(task="", tag=[], signature="", similar_to="", sort="") == ["lab/x"]


def test_a_signature_chooses_by_tensors() -> None:
    images = publish("lab/images")
    rows.graph(images, inputs=[("float32", ["N", 3, 64, 64])], outputs=[("float32", ["N", 10])])
    rows.graph(publish("lab/words"), inputs=[("int64", ["N", "T"])])
    assert found(signature="float32[8,3,?,W]") == ["lab/images"]
    assert found('signature:"float32[N,3,64,64] -> float32[N,10]"') == ["lab/images"]
    assert found('signature:"float32[N,3,64,64] -> float32[N,11]"') == []
    assert found(signature="int64[1,128]") == ["lab/words"]


def test_only_builds_that_stand_count_for_a_target() -> None:
    mlmodel = publish("lab/x")
    network = rows.graph(mlmodel)
    build = rows.build(network, "x86-64-avx2")
    assert found("target:x86-64-avx2") == ["lab/x"]
    build.withdrawn_at = rows.LONG_AGO
    build.save()
    rows.announce(mlmodel)
    assert found("target:x86-64-avx2") == []


def test_a_new_commit_is_found_by_what_it_says_and_no_longer_by_the_old() -> None:
    mlmodel = publish("lab/x", "elephants", tags=["old"])
    rows.graph(mlmodel)
    assert found("elephants class:plain-cnn") == ["lab/x"]
    commit_files(mlmodel, {"README.md": readme("tigers", tags=["new"])})
    assert found("tigers tag:new") == ["lab/x"]
    assert found("elephants") == found("tag:old") == found("class:plain-cnn") == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"query": "tsak:x"}, "invalid_query"),
        ({"signature": "float32"}, "invalid_signature"),
        ({"sort": "newest"}, "invalid_query"),
        ({"similar_to": "resnet"}, "invalid_query"),
        ({"task": " "}, "invalid_query"),
        ({"task": "\ud800"}, "invalid_query"),
        ({"limit": 0}, "invalid_request"),
        ({"limit": MAX_LIMIT + 1}, "invalid_request"),
    ],
)
def test_wrong_parameters_are_refused(options: dict[str, Any], code: str) -> None:
    with pytest.raises(Invalid) as refusal:
        catalogue_search(None, **options)
    assert refusal.value.code == code
