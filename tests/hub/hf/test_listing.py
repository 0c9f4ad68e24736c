"""Lists of models and data sets, asked for by the real client."""

from urllib.parse import quote

import httpx
import pytest
from huggingface_hub.errors import BadRequestError

from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Gate, RepositoryKind
from registry.tables import MLModel, Namespace, User
from tests.factories import commit_files, make_mlmodel, readme
from tests.hub.hf.conftest import ApiOf

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shelf(lab: Namespace, charlie: User) -> list[str]:
    """Six public models of ``lab``, oldest first: ``lab/net-0`` to ``lab/net-5``."""
    names = [f"lab/net-{number}" for number in range(6)]
    for name in names:
        make_mlmodel(name, actor=charlie)
    return names


def _ids(rows: object) -> list[str]:
    return [row.id for row in rows]  # type: ignore[attr-defined]


def test_a_list_holds_what_may_be_read_and_nothing_else(
    api_of: ApiOf, galaxy: MLModel, secret: MLModel, charlie: User, bob: User
) -> None:
    assert _ids(api_of().list_models()) == ["lab/galaxy-cnn"]
    assert _ids(api_of(bob).list_models(author="lab")) == ["lab/galaxy-cnn"]
    assert set(_ids(api_of(charlie).list_models())) == {"lab/galaxy-cnn", "lab/secret"}


def test_words_are_looked_for_in_whole_ids_whatever_their_case(
    api_of: ApiOf, galaxy: MLModel, shelf: list[str]
) -> None:
    api = api_of()

    assert _ids(api.list_models(search="GALAXY")) == ["lab/galaxy-cnn"]
    assert _ids(api.list_models(search="lab/net-3")) == ["lab/net-3"]
    assert _ids(api.list_models(search="%")) == []
    assert _ids(api.list_models(search="net\x00")) == []
    assert _ids(api.list_models(author="LAB", search="cnn")) == ["lab/galaxy-cnn"]
    assert _ids(api.list_models(author="nobody")) == []


def test_filters_must_all_hold(api_of: ApiOf, lab: Namespace, charlie: User) -> None:
    card = readme(
        pipeline_tag="text-classification",
        library_name="keras",
        license="mit",
        language=["en", "de"],
        datasets="mnist",
        base_model="google/bert",
        tags=["small"],
    )
    make_mlmodel("lab/one", actor=charlie, files={"README.md": card, "model.safetensors": "x"})
    make_mlmodel("lab/two", actor=charlie, files={"README.md": readme(tags=["small"])})
    api = api_of()

    for tag in ["keras", "license:mit", "de", "base_model:google/bert", "safetensors"]:
        assert _ids(api.list_models(filter=["small", tag])) == ["lab/one"], tag
    assert _ids(api.list_models(filter="small", sort="created_at")) == ["lab/two", "lab/one"]
    assert _ids(api.list_models(trained_dataset="mnist")) == ["lab/one"]
    assert _ids(api.list_models(pipeline_tag="text-classification")) == ["lab/one"]
    assert _ids(api.list_models(pipeline_tag="small")) == []
    assert _ids(api.list_models(filter=["small", "pytorch"])) == []


def test_labels_follow_the_newest_revision(api_of: ApiOf, galaxy: MLModel, charlie: User) -> None:
    bert = '{"model_type": "bert", "architectures": ["BertForMaskedLM"]}'
    commit_files(galaxy, {"README.md": readme(tags=["new"]), "config.json": bert}, actor=charlie)
    api = api_of()

    assert _ids(api.list_models(filter=["new", "bert", "transformers"])) == ["lab/galaxy-cnn"]
    assert _ids(api.list_models(filter="astronomy")) == []
    (told,) = api.list_models(filter="fill-mask")
    assert (told.library_name, told.pipeline_tag) == ("transformers", "fill-mask")


def test_gated_ones_can_be_told_apart(
    api_of: ApiOf, galaxy: MLModel, shelf: list[str], charlie: User
) -> None:
    mlmodel_update(actor=charlie, mlmodel=galaxy, gate=Gate.MANUAL)
    api = api_of()

    assert _ids(api.list_models(gated=True)) == ["lab/galaxy-cnn"]
    assert len(_ids(api.list_models(gated=False))) == 6
    assert len(_ids(api.list_models())) == 7
    (told,) = api.list_models(gated=True, expand=["gated"])
    assert told.gated == "manual"


@pytest.mark.parametrize(
    ("order", "column"),
    [
        ("likes", "likes"),
        ("trending_score", "likes"),
        ("downloads", "downloads"),
        ("created_at", ""),
        ("last_modified", ""),
    ],
)
def test_every_order_goes_through_pages_without_gap_or_repetition(
    api_of: ApiOf,
    shelf: list[str],
    order: str,
    column: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hub.hf.listing._PAGE", 2)
    if column:
        # Two pairs that are equal: the key decides between them.
        for name, number in zip(shelf, [3, 0, 3, 5, 0, 1], strict=True):
            MLModel.objects.filter(name=name.removeprefix("lab/")).update(**{column: number})
        places = [3, 2, 0, 5, 4, 1]
    else:
        places = [5, 4, 3, 2, 1, 0]

    assert _ids(api_of().list_models(sort=order)) == [shelf[place] for place in places]
    assert _ids(api_of().list_models(sort=order, limit=3)) == [shelf[p] for p in places[:3]]


def test_pages_are_linked_by_whole_addresses_that_keep_what_was_asked(
    hub_url: str, shelf: list[str]
) -> None:
    asked = f"{hub_url}/api/models?limit=4&search=net&search=lab%2F&expand=sha&sort=likes"
    first = httpx.get(asked)
    link = first.links["next"]["url"]

    assert link.startswith(f"{hub_url}/api/models?")
    assert [set(row) for row in httpx.get(link).json()] == [{"_id", "id", "modelId", "sha"}] * 2


def test_a_foreign_cursor_is_refused(hub_url: str, shelf: list[str]) -> None:
    for cursor in ["x", "W10=", quote("é"), "WyJsaWtlcyIsMSwxXQ=="]:
        answer = httpx.get(f"{hub_url}/api/models?cursor={cursor}")

        assert answer.status_code == 400, cursor
        assert "page" in answer.headers["X-Error-Message"]


def test_what_is_asked_for_wrongly_is_refused(hub_url: str, db: None) -> None:
    for query in ["sort=size", "limit=-1", "limit=x", "expand=everything"]:
        assert httpx.get(f"{hub_url}/api/models?{query}").status_code == 400, query


def test_properties_are_told_as_they_are_asked_for(api_of: ApiOf, galaxy: MLModel) -> None:
    api = api_of()
    (short,) = api.list_models()
    (full,) = api.list_models(full=True, cardData=True, fetch_config=True)
    (chosen,) = api.list_models(expand=["siblings", "usedStorage", "createdAt"])

    assert (short.siblings, short.sha, short.last_modified) == (None, None, None)
    assert "astronomy" in (short.tags or [])
    assert [file.rfilename for file in full.siblings or []] == [
        *(".gitattributes", "README.md", "model.onnx")
    ]
    assert full.sha
    assert full.card_data is not None
    assert full.card_data.license == "apache-2.0"
    assert chosen.created_at is not None
    assert len(chosen.siblings or []) == 3
    assert chosen.tags is None
    with pytest.raises(BadRequestError):
        list(api.list_models(expand=["mainSize"]))  # type: ignore[list-item]


def test_data_sets_have_a_list_of_their_own(api_of: ApiOf, galaxy: MLModel, charlie: User) -> None:
    card = readme(language="en", size_categories="n<1K", task_categories=["tabular"], tags=["t"])
    files = {"README.md": card, "data/train.csv": "a\n1\n"}
    make_mlmodel("lab/stars", actor=charlie, files=files, kind=RepositoryKind.DATASET)
    make_mlmodel("lab/empty", actor=charlie, kind=RepositoryKind.DATASET)
    api = api_of()

    assert set(_ids(api.list_datasets())) == {"lab/stars", "lab/empty"}
    assert _ids(api.list_datasets(language="en", size_categories="n<1K")) == ["lab/stars"]
    assert _ids(api.list_datasets(task_categories="tabular", search="star")) == ["lab/stars"]
    (told,) = api.list_datasets(filter="t", full=True)
    assert told.card_data is not None
    assert told.siblings is not None
    assert _ids(api.list_models(filter="t")) == []


def test_labels_in_use_are_told_by_their_types(
    api_of: ApiOf, galaxy: MLModel, secret: MLModel
) -> None:
    tags = api_of().get_model_tags()

    assert {"id": "onnx", "label": "onnx", "type": "library"} in tags["library"]
    assert [tag["id"] for tag in tags["license"]] == ["license:apache-2.0"]
    assert "hidden" not in [tag["id"] for tag in tags["other"]]
    assert api_of().get_dataset_tags() == {}
