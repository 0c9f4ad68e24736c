"""Filters of lists beyond names and labels, as the real client sends them."""

import json
import struct
from itertools import pairwise

import httpx
import pytest
from huggingface_hub.errors import BadRequestError

from registry.selectors.repository.revision import revision_get
from registry.services.repository.card import count_uncounted
from registry.services.repository.fork import fork
from registry.states import RepositoryKind
from registry.tables import MLModel, Namespace, User
from tests.factories import commit_files, make_mlmodel, readme
from tests.hub.hf.conftest import ApiOf
from tests.registry.shopfloor import make_graph

pytestmark = pytest.mark.django_db(transaction=True)


def weights(parameters: int) -> bytes:
    """The header of a safetensors file with one int8 tensor."""
    tensor = {"dtype": "I8", "shape": [parameters], "data_offsets": [0, parameters]}
    header = json.dumps({"a": tensor}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(parameters)


def ids(rows: object) -> list[str]:
    return sorted(row.id for row in rows)  # type: ignore[attr-defined]


@pytest.fixture
def sizes(lab: Namespace, charlie: User) -> None:
    """Models of 999, 1000 and 2500 parameters, and one without weights."""
    for number in (999, 1000, 2500):
        files = {"model.safetensors": weights(number)}
        make_mlmodel(f"lab/n{number}", actor=charlie, files=files)
    make_mlmodel("lab/none", actor=charlie)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("min:1K", ["lab/n1000", "lab/n2500"]),
        ("max:1K", ["lab/n1000", "lab/n999"]),
        ("min:1k,max:2K", ["lab/n1000"]),
        ("max:2.5K, min:2500", ["lab/n2500"]),
        ("min:6B,max:128B", []),
        ("min:0", ["lab/n1000", "lab/n2500", "lab/n999"]),
    ],
)
def test_models_are_listed_by_number_of_parameters(
    api_of: ApiOf, sizes: None, bounds: str, expected: list[str]
) -> None:
    assert ids(api_of().list_models(num_parameters=bounds)) == expected


@pytest.mark.parametrize(
    "bounds",
    ["", "6B", "min:", "min:6X", "min:-1", "min:2,min:3", "min:2K,max:1K", "min:1,", "a:1"],
)
def test_a_malformed_range_is_refused_with_an_example(api_of: ApiOf, db: None, bounds: str) -> None:
    with pytest.raises(BadRequestError, match="min:6B,max:128B"):
        list(api_of().list_models(num_parameters=bounds))


def test_the_number_follows_the_newest_revision_and_a_fork(
    api_of: ApiOf, sizes: None, charlie: User
) -> None:
    mlmodel = MLModel.objects.get(name="n2500")
    fork(actor=charlie, source=mlmodel, namespace="charlie", name="copy")
    commit_files(mlmodel, {"model.safetensors": weights(7)}, actor=charlie)

    assert ids(api_of().list_models(num_parameters="max:10")) == ["lab/n2500"]
    assert ids(api_of().list_models(num_parameters="min:2K")) == ["charlie/copy"]
    commit_files(mlmodel, {"model.safetensors": None}, actor=charlie)
    assert ids(api_of().list_models(num_parameters="max:10")) == []


def test_models_without_safetensors_count_by_their_inspected_network(
    api_of: ApiOf, sizes: None
) -> None:
    none = MLModel.objects.get(name="none")
    graph = make_graph(revision_get(none))
    graph.parameters = 5000
    graph.save()

    assert ids(api_of().list_models(num_parameters="min:5K")) == ["lab/none"]
    assert ids(api_of().list_models(num_parameters="max:4K,min:3K")) == []


def test_models_older_than_the_column_are_counted_by_reindexing(api_of: ApiOf, sizes: None) -> None:
    MLModel.objects.update(parameters=None)
    assert ids(api_of().list_models(num_parameters="min:1K")) == []

    assert count_uncounted() == 3
    assert ids(api_of().list_models(num_parameters="min:1K")) == ["lab/n1000", "lab/n2500"]


def test_models_are_listed_by_the_applications_that_run_them(
    api_of: ApiOf, lab: Namespace, charlie: User
) -> None:
    card = readme(pipeline_tag="text-generation", library_name="transformers")
    make_mlmodel("lab/text", actor=charlie, files={"README.md": card, "m.safetensors": "x"})
    make_mlmodel("lab/gguf", actor=charlie, files={"m.gguf": "x"})
    api = api_of()

    assert ids(api.list_models(apps="ollama")) == ["lab/gguf"]
    assert ids(api.list_models(apps=["llama.cpp", "ollama"])) == ["lab/gguf"]
    assert ids(api.list_models(apps="vllm")) == ["lab/text"]
    assert ids(api.list_models(apps=["vllm", "ollama"])) == []
    with pytest.raises(BadRequestError, match=r"Invalid apps 'word'.*ollama"):
        list(api.list_models(apps="word"))


def test_no_model_is_served_by_an_inference_provider(api_of: ApiOf, galaxy: MLModel) -> None:
    api = api_of()

    assert ids(api.list_models(inference="warm")) == []
    assert ids(api.list_models(inference_provider="all")) == []
    assert ids(api.list_models(inference_provider="hf-inference")) == []
    with pytest.raises(BadRequestError, match="must be 'warm'"):
        list(api.list_models(inference="cold"))  # type: ignore[arg-type]
    with pytest.raises(BadRequestError, match="inference_provider"):
        list(api.list_models(inference_provider="no such/provider"))


def test_data_sets_are_listed_by_every_filter_of_the_client(
    api_of: ApiOf, lab: Namespace, charlie: User
) -> None:
    values = {
        "language_creators": "crowdsourced",
        "language": "en",
        "multilinguality": "monolingual",
        "size_categories": "n<1K",
        "task_categories": "tabular-classification",
        "task_ids": "tabular-multi-class-classification",
    }
    files = {"README.md": readme(**values, tags=["benchmark:official"])}
    make_mlmodel("lab/full", actor=charlie, files=files, kind=RepositoryKind.DATASET)
    make_mlmodel("lab/bare", actor=charlie, kind=RepositoryKind.DATASET)
    api = api_of()

    for key, value in values.items():
        assert ids(api.list_datasets(**{key: value})) == ["lab/full"], key
        assert ids(api.list_datasets(**{key: "another"})) == [], key
    for (key, value), (other, _) in pairwise(values.items()):
        assert ids(api.list_datasets(**{key: value, other: "another"})) == []
    assert ids(api.list_datasets(dataset_name="full", search="lab/")) == ["lab/full"]
    # A tag is written by the author, and no data set of this hub is an official benchmark.
    assert ids(api.list_datasets(benchmark=True)) == []


@pytest.mark.parametrize(
    "query",
    ["models?gated=maybe", "datasets?apps=vllm", "datasets?num_parameters=min:1", "models?apps="],
)
def test_other_malformed_filters_are_refused(hub_url: str, db: None, query: str) -> None:
    answer = httpx.get(f"{hub_url}/api/{query}")

    assert answer.status_code == 400
    assert answer.json()["error"].startswith("Invalid ")
