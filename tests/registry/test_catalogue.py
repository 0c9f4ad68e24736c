"""Searching the catalogue, over a real index and real rows."""

import pytest

from registry.selectors.catalogue import catalogue_search
from tests.registry.search import rows
from tests.registry.search.rows import names

pytestmark = pytest.mark.django_db


def found(query: str = "", **options: object) -> list[str]:
    return names(catalogue_search(None, query=query, **options).items)  # type: ignore[arg-type]


def test_part_of_a_name_finds_it() -> None:
    rows.mlmodel("lab/digits-cnn")
    rows.mlmodel("lab/galaxies")
    assert found("digits") == ["lab/digits-cnn"]
    assert found("cnn") == ["lab/digits-cnn"]
    assert found("lab/Digits_CNN") == ["lab/digits-cnn"]
