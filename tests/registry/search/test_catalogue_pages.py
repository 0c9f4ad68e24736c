"""Orders of a result, and pages that neither repeat nor skip."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import Invalid, NotFound
from registry.selectors.search.catalogue import CataloguePage, catalogue_search
from registry.tables import MLModel
from tests.registry.search import rows

pytestmark = pytest.mark.django_db


def pages(limit: int = 2, **options: Any) -> Iterator[CataloguePage]:
    """All pages of a search, each asked for when it is wanted."""
    cursor = None
    while True:
        page = catalogue_search(None, cursor=cursor, limit=limit, **options)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return


def walked(**options: Any) -> list[str]:
    """Full names on all pages."""
    return [row.full_name for page in pages(**options) for row in page.items]


def test_sorted_lists_go_by_their_key_and_ties_by_the_newest() -> None:
    for number, (downloads, age_s) in enumerate([(5, 0), (5, 9), (7, 5), (0, 5), (5, 5)]):
        rows.mlmodel(f"lab/m{number}", downloads=downloads, age_s=age_s)
    assert walked(sort="downloads") == ["lab/m2", "lab/m4", "lab/m1", "lab/m0", "lab/m3"]
    assert walked(sort="updated") == ["lab/m0", "lab/m4", "lab/m3", "lab/m2", "lab/m1"]
    assert walked() == walked(query="sort:updated") == walked(sort="updated")


def test_names_sort_without_case() -> None:
    names = ["a-b/x", "a/x", "a/x-1", "a/X.1", "a/X0", "B/a", "c/a"]
    for name in reversed(names):
        rows.mlmodel(name)
    assert walked(sort="name") == sorted(names, key=str.lower)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("sort", ["updated", "downloads", "name"])
def test_pages_of_any_size_make_the_whole(limit: int, sort: str) -> None:
    for number in range(5):
        rows.mlmodel(f"lab/m{number}", downloads=number // 2, age_s=number // 3)
    whole = walked(limit=100, sort=sort)
    assert len(set(whole)) == 5
    assert walked(limit=limit, sort=sort) == whole
    assert {page.total for page in pages(limit, sort=sort)} == {5}
    assert [len(page.items) for page in pages(limit, sort=sort)][-1] in range(1, limit + 1)


@pytest.mark.parametrize("sort", ["updated", "downloads", "name"])
def test_what_comes_and_goes_between_pages_moves_nothing_else(sort: str) -> None:
    names = [f"lab/m{number}" for number in range(6)]
    for number, name in enumerate(names):
        rows.mlmodel(name, downloads=10 - number, age_s=10 + number)
    turning = pages(2, sort=sort)
    assert rows.names(next(turning).items) == names[:2]
    rows.mlmodel("lab/a-new-first", downloads=99, age_s=0)
    gone = MLModel.objects.get(name="m0")
    rows.announce(gone)
    gone.refs.all().delete()
    gone.delete()
    assert rows.names(next(turning).items) == names[2:4]
    assert rows.names(next(turning).items) == names[4:]


def test_relevance_goes_through_its_ranks() -> None:
    for number in range(5):
        rows.mlmodel(f"lab/galaxy-{'x-' * number}end", title="galaxy" if number == 3 else "")
    whole = walked(query="galaxy", limit=100)
    assert whole[0] == "lab/galaxy-x-x-x-end"
    assert walked(query="galaxy", limit=2) == whole
    assert len(set(whole)) == 5


def test_relevance_ends_at_its_deepest_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        rows.mlmodel(f"lab/galaxy-{number}")
    monkeypatch.setattr("registry.search.orders.DEEPEST_RANK", 3)
    assert len(walked(query="galaxy", limit=2)) == 3
    assert len(walked(query="galaxy", limit=2, sort="name")) == 5


def likenesses() -> None:
    """The reference, two models of its structure, and others ever less alike."""
    rows.graph(rows.mlmodel("lab/reference"), structure="r", embedding=(1.0, 0.0))
    for name, structure, embedding, architecture_class in [
        ("twin-b", "r", (1.0, 0.0), "plain-cnn"),
        ("twin-a", "r", (1.0, 0.0), "plain-cnn"),
        ("near", "n", (0.8, 0.6), "plain-cnn"),
        ("far", "f", (-1.0, 0.0), "plain-cnn"),
        ("stranger", "s", (1.0, 0.0), "transformer"),
        ("no-stranger", "o", (0.6, 0.8), "transformer"),
        ("other-size", "z", (1.0, 0.0, 0.0), "plain-cnn"),
    ]:
        rows.graph(
            rows.mlmodel(f"lab/{name}"),
            structure=structure,
            embedding=embedding,
            architecture_class=architecture_class,
        )
    rows.mlmodel("lab/without-network")


ALIKE = [f"lab/{name}" for name in ("twin-a", "twin-b", "near", "far", "stranger", "no-stranger")]


@pytest.mark.parametrize("limit", [1, 2, 4, 100])
def test_likeness_ranks_by_class_then_by_structure(limit: int) -> None:
    likenesses()
    assert walked(similar_to="LAB/Reference", limit=limit) == ALIKE
    assert walked(query="similar:lab/reference class:transformer", limit=limit) == ALIKE[4:]


def test_likeness_pages_stay_while_models_come() -> None:
    likenesses()
    turning = pages(2, similar_to="lab/reference")
    assert rows.names(next(turning).items) == ALIKE[:2]
    rows.graph(rows.mlmodel("lab/twin-0"), structure="r", embedding=(1.0, 0.0))
    assert rows.names(next(turning).items) == ALIKE[2:4]


def test_likeness_in_another_order_keeps_what_has_a_network() -> None:
    likenesses()
    found = walked(similar_to="lab/reference", sort="name")
    assert found == sorted([*ALIKE, "lab/other-size"])


def test_likeness_needs_a_network() -> None:
    likenesses()
    with pytest.raises(NotFound) as refusal:
        catalogue_search(None, similar_to="lab/without-network")
    assert refusal.value.code == "graph_not_found"


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


def test_a_cursor_serves_its_own_search_only() -> None:
    likenesses()
    cursor = catalogue_search(None, query="class:plain-cnn", sort="name", limit=1).next_cursor
    assert cursor
    again = catalogue_search(None, architecture_class="PLAIN-CNN", sort="name", cursor=cursor)
    assert rows.names(again.items)[0] == "lab/near"
    for options in ({"sort": "name"}, {"query": "class:plain-cnn"}):
        with pytest.raises(Invalid) as refusal:
            catalogue_search(None, cursor=cursor, **options)  # type: ignore[arg-type]
        assert refusal.value.code == "invalid_cursor"


@pytest.mark.parametrize(
    "options", [{"sort": "name"}, {"sort": "updated"}, {"query": "x"}, {"similar_to": "lab/near"}]
)
def test_a_forged_place_is_refused(options: dict[str, Any]) -> None:
    likenesses()
    rows.mlmodel("lab/x-1")
    rows.mlmodel("lab/x-2")
    given_out = catalogue_search(None, limit=1, **options).next_cursor
    assert given_out
    signature = given_out.partition(":")[2]
    for place in ("x TO y}", "-1", "9" * 9, "1 1.0 x", "\0", "lab/x} OR {x", ""):
        forged = f"{encoded(json.dumps([place]))}:{signature}"
        with pytest.raises(Invalid) as refusal:
            catalogue_search(None, cursor=forged, **options)
        assert refusal.value.code == "invalid_cursor"


@given(st.text(max_size=30))
def test_any_other_text_is_no_cursor(text: str) -> None:
    with pytest.raises(Invalid):
        catalogue_search(None, cursor=text or " ")
