"""Data sets: their list, and a page like a model's without what is built of models."""

import pytest
from django.test import Client

from registry.services.repository.mlmodel import mlmodel_create
from registry.states import RepositoryKind, Visibility
from registry.tables import MLModel, Namespace, User
from tests.factories import commit_files, member, readme
from tests.hub.pages.test_reading import status, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cast")]

ROOT = "/datasets/lab/sky"
TAILS = ["", "/tree/main", "/blob/main/data/a.csv", "/raw/main/data/a.csv", "/history",
         "/discussions"]  # fmt: skip


def make_dataset(owner: str, name: str, actor: User, visibility: str = "public") -> MLModel:
    made = mlmodel_create(
        actor=actor,
        namespace=owner,
        name=name,
        kind=RepositoryKind.DATASET,
        visibility=Visibility(visibility),
    )
    card = readme(f"# {name}\n\nImages of galaxies.\n", tags=["astronomy"], license="cc-by-4.0")
    commit_files(made, {"README.md": card, "data/a.csv": "a,b\n"}, actor=actor)
    return made


@pytest.fixture(scope="module")
def kept_sky(cast: None) -> int:
    return make_dataset("lab", "sky", member("charlie")).pk


@pytest.fixture
def sky(db: None, kept_sky: int) -> MLModel:
    """The public data set ``lab/sky``."""
    return MLModel.objects.get(pk=kept_sky)


def test_the_list_finds_data_sets_by_words(client: Client, sky: MLModel, galaxy: MLModel) -> None:
    page = text(client, "/datasets")
    assert f'href="{ROOT}"' in page
    assert "galaxy-cnn" not in page
    for query in ("sky", "GALAXIES lab/s", "astronomy", "cc-by"):
        assert ROOT in text(client, f"/datasets?q={query}")
    assert "No data set matches" in text(client, "/datasets?q=sky+nebula")
    assert status(client, f"/datasets?q={'x+' * 20}") == 400


@pytest.mark.parametrize("tail", TAILS)
def test_a_data_set_has_the_pages_of_a_model(client: Client, sky: MLModel, tail: str) -> None:
    assert status(client, f"{ROOT}{tail}") == 200


@pytest.mark.parametrize("tail", ["/builds", "/jobs", "/tune"])
def test_nothing_is_built_of_a_data_set(client: Client, sky: MLModel, tail: str) -> None:
    assert status(client, f"{ROOT}{tail}") == 404
    assert "/builds" not in text(client, ROOT)


def test_every_link_of_a_data_sets_page_stays_with_data_sets(client: Client, sky: MLModel) -> None:
    page = text(client, ROOT)
    assert 'href="/lab/sky' not in page
    assert 'action="/lab/sky' not in page
    assert "load_dataset(" in page
    assert "hpcfair.load" not in page


def test_a_model_of_the_same_name_is_another_thing(
    client: Client, sky: MLModel, charlie: User
) -> None:
    assert status(client, "/lab/sky") == 404
    mlmodel_create(actor=charlie, namespace="lab", name="sky")
    assert 'href="/lab/sky/builds"' in text(client, "/lab/sky")


def test_a_namespace_shows_its_data_sets(client: Client, sky: MLModel) -> None:
    assert ROOT in text(client, "/lab")


def test_a_private_data_set_is_not_there_for_strangers(
    client: Client, lab: Namespace, alice: User, charlie: User
) -> None:
    make_dataset("lab", "veiled", charlie, "private")
    for user, expected in ((None, 404), (alice, 404), (charlie, 200)):
        if user:
            client.force_login(user)
        found = {tail: status(client, f"/datasets/lab/veiled{tail}") for tail in TAILS}
        assert found == dict.fromkeys(TAILS, expected)
        for page in ("/datasets", "/lab"):
            assert ("veiled" in text(client, page)) == (user == charlie)


def test_a_data_set_is_made_and_filled_from_the_browser(client: Client, alice: User) -> None:
    client.force_login(alice)
    form = {"kind": "dataset", "namespace": "alice", "name": "digits", "visibility": "public"}
    answer = client.post("/new", form)
    assert answer["Location"] == "/datasets/alice/digits/upload"
    card = readme("# Digits\n\nHandwritten.\n", license="cc-by-4.0")
    answer = client.post("/datasets/alice/digits/upload", {"card": card, "message": ""})
    assert answer["Location"] == "/datasets/alice/digits/describe"
    assert "Handwritten." in text(client, "/datasets/alice/digits")
