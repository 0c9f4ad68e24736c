"""Counts of large results: capped, estimated, and never of what a reader may not see."""

from uuid import UUID

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.search import counts, sampling
from registry.search.schema import SMALLEST
from registry.selectors.search.catalogue import CataloguePage, catalogue_search
from registry.tables import Tag
from tests.registry.search import rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every hub is large, and what a thread counts is counted at once."""

    class Inline:
        def __init__(self, target: object, args: tuple[object, ...], **_: object) -> None:
            self.run = lambda: target(*args)  # type: ignore[operator]

        def start(self) -> None:
            self.run()

    monkeypatch.setattr(counts, "EXACT", 4)
    monkeypatch.setattr(counts.threading, "Thread", Inline)
    counts._overviews.clear()


def models(number: int, **columns: object) -> None:
    """Models of tag ``x``, of which each share has its exact part."""
    for at in range(number):
        row = rows.mlmodel(f"lab/m{at}", uuid=UUID(int=SMALLEST + at), **columns)
        Tag.objects.create(mlmodel=row, value="x")
        rows.announce(row)


def page(actor: object = None, **options: object) -> CataloguePage:
    return catalogue_search(AnonymousUser() if actor is None else actor, **options)  # type: ignore[arg-type]


def test_large_totals_are_capped_and_their_facets_estimated(inline: None) -> None:
    models(2 * SMALLEST, task="t")
    result = page(task="t")
    assert (result.total, result.counts.total_is_exact) == (4, False)
    # 128, with two significant digits.
    assert result.facets["tag"] == [("x", 130)]
    assert not result.counts.facets_are_exact


def test_small_results_of_a_large_hub_are_exact(inline: None) -> None:
    models(SMALLEST)
    rows.mlmodel("lab/other", task="t", uuid=UUID(int=5))
    result = page(query="other")
    assert (result.total, result.counts.total_is_exact) == (1, True)
    assert result.counts.facets_are_exact
    assert page(query="none").total == 0


def test_without_filters_public_models_are_counted_once_and_own_ones_added(inline: None) -> None:
    models(SMALLEST)
    hidden = rows.mlmodel("own/hidden", visibility="private", task="secret", uuid=UUID(int=5))
    Tag.objects.create(mlmodel=hidden, value="x")
    rows.announce(hidden)
    alice, bob = rows.user("alice", "own"), rows.user("bob")
    # The first answer starts the count, and is estimated.
    assert not page().counts.facets_are_exact
    for reader in (None, bob):
        result = page(reader)
        assert (result.total, result.counts.total_is_exact) == (SMALLEST, True)
        assert (result.facets["tag"], result.facets["task"]) == ([("x", SMALLEST)], [])
    own = page(alice)
    assert own.total == SMALLEST + 1
    assert own.facets["tag"] == [("x", SMALLEST + 1)]
    assert own.facets["task"] == [("secret", 1)]
    # It is used again until it is old, and never shows what became private to anybody new.
    assert page().facets["task"] == []


def test_the_counts_of_one_folder_are_not_those_of_another(
    inline: None, settings: object, tmp_path: object
) -> None:
    models(SMALLEST)
    page()
    assert page().total == SMALLEST
    settings.INDEX_DIR = f"{tmp_path}/other"  # type: ignore[attr-defined]
    assert page().total != SMALLEST


@pytest.mark.parametrize("sort", ["updated", "downloads", "name"])
def test_a_bounded_sort_gives_the_same_pages(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(2 * SMALLEST):
        rows.mlmodel(f"lab/m{at}", uuid=UUID(int=at + 1), downloads=at % 7, age_s=at % 5)

    def walk() -> list[str]:
        names, cursor = [], None
        while True:
            result = page(sort=sort, cursor=cursor, limit=7, with_counts=False)
            names += rows.names(result.items)
            cursor = result.next_cursor
            if cursor is None:
                return names

    whole = walk()
    monkeypatch.setattr(sampling, "LARGE", 0)
    monkeypatch.setattr(sampling, "LEAST_HITS", 1)
    assert walk() == whole
    assert len(set(whole)) == 2 * SMALLEST
