"""Lists of the Hugging Face protocol by parts of names, from the index."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.search import names, scale
from registry.selectors.search.listing import Listing, listing_page
from registry.states import RepositoryKind
from tests.registry.search import rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

FULL = ["lab/Galaxy-CNN", "lab/galaxies", "axy/net", "other/bert"]


@pytest.fixture(autouse=True)
def hub() -> None:
    for name in FULL:
        rows.mlmodel(name)
    rows.mlmodel("lab/galaxy-set", kind=RepositoryKind.DATASET)
    rows.mlmodel("lab/galaxy-secret", visibility="private")


def listed(*words: str, kind: RepositoryKind = RepositoryKind.MODEL) -> list[str]:
    listing = Listing(kind=kind, words=words)
    return sorted(rows.names(listing_page(AnonymousUser(), listing, limit=100).items))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["GALAX"], ["lab/Galaxy-CNN", "lab/galaxies"]),
        (["axy"], ["axy/net", "lab/Galaxy-CNN"]),
        (["b/g"], ["lab/Galaxy-CNN", "lab/galaxies"]),
        (["lab/galaxies"], ["lab/galaxies"]),
        (["xi"], ["lab/galaxies"]),
        (["x"], ["axy/net", "lab/Galaxy-CNN", "lab/galaxies"]),
        (["lab", "cnn"], ["lab/Galaxy-CNN"]),
        (["galxay"], []),
        ([""], sorted(FULL)),
        (["%"], []),
        (["secret"], []),
    ],
)
@pytest.mark.parametrize("most", [0, 20_000])
def test_parts_of_names_are_found(
    words: list[str], expected: list[str], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "MOST_KEYS", most)
    assert listed(*words) == expected


def test_kinds_are_apart_and_new_names_are_found() -> None:
    assert listed("galaxy", kind=RepositoryKind.DATASET) == ["lab/galaxy-set"]
    rows.mlmodel("lab/galaxy-2")
    assert listed("xy-2") == ["lab/galaxy-2"]


def test_a_rare_part_is_looked_up_by_key() -> None:
    (row,) = [row for row in rows.MLModel.objects.all() if row.name == "bert"]
    assert names.keys_containing(RepositoryKind.MODEL, ["bert"], limit=1) == [row.pk]
    with CaptureQueriesContext(connection) as queries:
        listed("bert")
    assert f'"id" IN ({row.pk})' in queries[-1]["sql"]


def test_without_an_index_the_database_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "SMALL", 0)
    monkeypatch.setattr("registry.search.background.start", lambda: None)
    assert names.keys_containing(RepositoryKind.MODEL, ["bert"], limit=1) is None
    assert listed("bert") == ["other/bert"]
