"""Short lists for search boxes, and the tasks with their models."""

from typing import Any

import httpx
import pytest
from huggingface_hub.inference._providers import hf_inference

from registry.states import RepositoryKind
from registry.tables import MLModel, Namespace, User
from tests.factories import make_mlmodel, readme

pytestmark = pytest.mark.django_db(transaction=True)


def answer_of(hub_url: str, **parameters: Any) -> dict[str, Any]:
    """The results of a search."""
    answer = httpx.get(f"{hub_url}/api/quicksearch", params=parameters)
    assert answer.status_code == 200
    shape: dict[str, Any] = answer.json()
    return shape


def test_a_word_is_searched_in_all_names(
    hub_url: str, galaxy: MLModel, secret: MLModel, lab: Namespace, charlie: User
) -> None:
    make_mlmodel("lab/galaxies", actor=charlie, kind=RepositoryKind.DATASET)
    shape = answer_of(hub_url, q="GALAX")

    assert [row["id"] for row in shape["models"]] == ["lab/galaxy-cnn"]
    assert [row["id"] for row in shape["datasets"]] == ["lab/galaxies"]
    assert (shape["modelsCount"], shape["spaces"], shape["spacesCount"]) == (1, [], 0)
    assert [row["name"] for row in answer_of(hub_url, q="labor")["orgs"]] == ["lab"]
    assert [row["user"] for row in answer_of(hub_url, q="charl")["users"]] == ["charlie"]
    assert answer_of(hub_url, q="secret")["models"] == []
    assert answer_of(hub_url, q="a\x00")["users"] == []


def test_types_and_limit_are_followed_or_refused(
    hub_url: str, galaxy: MLModel, charlie: User
) -> None:
    make_mlmodel("lab/galaxy-2", actor=charlie)
    MLModel.objects.filter(name="galaxy-2").update(likes=3)

    assert answer_of(hub_url, q="galaxy", type="dataset")["models"] == []
    assert answer_of(hub_url, q="galaxy", type=["user", "model"], limit=1)["models"] == [
        {
            "_id": str(MLModel.objects.get(name="galaxy-2").uuid),
            "id": "lab/galaxy-2",
            "trendingWeight": 3,
        }
    ]
    assert answer_of(hub_url, q="galaxy", type="all", limit=0)["models"] == []
    for query in ("type=film", "limit=x"):
        assert httpx.get(f"{hub_url}/api/quicksearch?q=a&{query}").status_code == 400, query


def test_tasks_have_their_most_liked_public_models(
    hub_url: str, galaxy: MLModel, lab: Namespace, charlie: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = readme(pipeline_tag="image-classification", title="Net")
    for number in range(6):
        make_mlmodel(f"lab/net-{number}", actor=charlie, files={"README.md": card})
        MLModel.objects.filter(name=f"net-{number}").update(likes=number)
    card = readme(pipeline_tag="hidden")
    make_mlmodel("lab/own", actor=charlie, files={"README.md": card}, visibility="private")
    shape = httpx.get(f"{hub_url}/api/tasks").json()

    assert list(shape) == ["image-classification"]
    assert shape["image-classification"]["label"] == "Image Classification"
    ids = [model["id"] for model in shape["image-classification"]["models"]]
    assert ids == [f"lab/net-{number}" for number in (5, 4, 3, 2, 1)]
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub_url)
    hf_inference._fetch_recommended_models.cache_clear()
    assert hf_inference._fetch_recommended_models() == {"image-classification": None}
    hf_inference._fetch_recommended_models.cache_clear()
